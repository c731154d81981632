// Checks cards of a Croupier shoe against the root that sealed it, and a published shoe against its seeds.
// Shares no code with Croupier and needs nothing but WebCrypto: runs in node (`node verify-card.mjs FILE`)
// and in a browser (`import { problems } from "./verify-card.mjs"`). Byte layout: docs/shuffle.md.
//
// The document: { shoe_id, decks, root, cards: [{ position, card, salt, path }] }, bytes in hex; where the
// shoe is published also { commitment, server_seed, player_seeds: [{ player, seed, commitment }], cut_at }, and
// { dealer_range: [least, most] } where the dealer cut.

const subtle = globalThis.crypto.subtle;
const RANKS = "23456789TJQKA", SUITS = "cdhs", BLOCK = 4096, MOST_DECKS = 16;

const text = (string) => new TextEncoder().encode(string);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const same = (a, b) => hex(a) === hex(b);
const within = (value, least, most) => Number.isInteger(value) && least <= value && value <= most;
const number = (value, size) => Uint8Array.from({ length: size }, (_, at) => value >>> (8 * (size - 1 - at)));
const unhex = (string) => {
  if (!/^([0-9a-f]{2})*$/.test(string)) throw new Error("not lower-case hex");
  return Uint8Array.from(string.match(/../g) ?? [], (pair) => parseInt(pair, 16));
};
const join = (...parts) => {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) { all.set(part, at); at += part.length; }
  return all;
};
const encode = (domain, ...fields) =>
  join(...[text(domain), ...fields].flatMap((field) => [number(field.length, 4), field]));
const sha256 = async (...parts) => new Uint8Array(await subtle.digest("SHA-256", join(...parts)));
const hmac = async (key, data) => {
  const imported = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await subtle.sign("HMAC", imported, data));
};

const leaf = (shoe, position, card, salt) => encode("croupier/shoe-card/v1", text(shoe),
  number(position, 4), Uint8Array.of(RANKS.indexOf(card[0]) * 4 + SUITS.indexOf(card[1])), salt);
const node = (left, right) => sha256(Uint8Array.of(1), left, right);

// The root that a card and its path lead to (RFC 9162, 2.1.3.2); undefined: no such path.
async function rootOf(data, position, size, path) {
  if (!(position >= 0 && position < size)) return undefined;
  let index = position, last = size - 1, hash = await sha256(Uint8Array.of(0), data);
  for (const sibling of path) {
    if (last === 0 || sibling.length !== 32) return undefined;
    if (index % 2 || index === last) {
      hash = await node(sibling, hash);
      while (index % 2 === 0 && index) { index >>>= 1; last >>>= 1; }
    } else hash = await node(hash, sibling);
    index >>>= 1; last >>>= 1;
  }
  return last === 0 ? hash : undefined;
}

// Merkle Tree Hash of hashed leaves, as RFC 6962, 2.1 defines it.
async function treeHash(leaves) {
  if (leaves.length === 1) return leaves[0];
  let half = 1;
  while (half * 2 < leaves.length) half *= 2;
  return node(await treeHash(leaves.slice(0, half)), await treeHash(leaves.slice(half)));
}

// Bytes of HMAC_DRBG (SP 800-90A, SHA-256), drawn in blocks of 4,096.
async function* drawn(purpose, document) {
  const shoe = text(document.shoe_id);
  const seeds = document.player_seeds.flatMap(({ player, seed }) => [text(player), unhex(seed)]);
  let key = new Uint8Array(32), value = new Uint8Array(32).fill(1);
  const update = async (provided) => {
    for (const separator of [0, 1]) {
      key = await hmac(key, join(value, Uint8Array.of(separator), provided));
      value = await hmac(key, value);
      if (!provided.length) return;
    }
  };
  await update(join(unhex(document.server_seed), await sha256(encode("croupier/shoe-nonce/v1", shoe)),
    encode(purpose, shoe, ...seeds)));
  for (;;) {
    const block = [];
    for (let count = 0; count < BLOCK; count += 32) block.push(value = await hmac(key, value));
    await update(new Uint8Array());
    yield* join(...block);
  }
}

const take = async (bytes, count) => {
  const taken = [];
  while (taken.length < count) taken.push((await bytes.next()).value);
  return Uint8Array.from(taken);
};

// A number below the bound, each equally often.
const below = async (bytes, bound) => {
  for (;;) {
    const [high, low] = await take(bytes, 2), draw = high * 256 + low;
    if (draw < 65536 - (65536 % bound)) return draw % bound;
  }
};

// The whole shoe from its seeds: cards by position, and the root.
async function derive(document) {
  const size = document.decks * 52, bytes = drawn("croupier/shoe-order/v1", document);
  const order = Array.from({ length: size }, (_, at) => at % 52);
  for (let last = size - 1; last > 0; last--) {
    const other = await below(bytes, last + 1);
    [order[last], order[other]] = [order[other], order[last]];
  }
  const cut = [...order.slice(document.cut_at), ...order.slice(0, document.cut_at)];
  const cards = cut.map((code) => RANKS[code >> 2] + SUITS[code & 3]);
  const salts = drawn("croupier/shoe-salts/v1", document), leaves = [];
  for (const [position, card] of cards.entries()) {
    const data = leaf(document.shoe_id, position, card, await take(salts, 16));
    leaves.push(await sha256(Uint8Array.of(0), data));
  }
  return { cards, root: await treeHash(leaves) };
}

// What is wrong with the document, one sentence each; nothing if all of it holds.
export async function problems(document) {
  const found = [], root = unhex(document.root), size = document.decks * 52;
  if (!within(document.decks, 1, MOST_DECKS)) return ["there is no such shoe"];
  for (const { position, card, salt, path } of document.cards) {
    const known = /^[2-9TJQKA][cdhs]$/.test(card) && Number.isInteger(position) && salt.length === 32;
    const got = known && await rootOf(leaf(document.shoe_id, position, card, unhex(salt)), position, size,
      path.map(unhex));
    if (!got || !same(got, root)) found.push(`card ${card} at position ${position} is not what was sealed`);
  }
  if (document.server_seed === undefined) return found;
  if (!within(document.cut_at, 0, size - 1)) return [...found, "there is no such shoe"];
  const commitment = await sha256(encode("croupier/server-seed/v1", text(document.shoe_id),
    unhex(document.server_seed)));
  if (!same(commitment, unhex(document.commitment))) found.push("the server seed is not what was committed to");
  for (const { player, seed, commitment: told } of document.player_seeds) {
    const own = await sha256(encode("croupier/player-seed/v1", text(document.shoe_id), text(player), unhex(seed)));
    if (told !== undefined && !same(own, unhex(told))) found.push(`the seed of ${player} is not what was committed to`);
  }
  if (document.dealer_range) {
    const [least, most] = document.dealer_range, possible = within(most, least, size) && within(least, 0, most);
    const bytes = drawn("croupier/shoe-cut/v1", { ...document, player_seeds: [] });
    if (!possible || document.cut_at !== least + await below(bytes, most - least + 1)) {
      found.push("the dealer's cut does not follow from the server seed");
    }
  }
  const shoe = await derive(document);
  if (!same(shoe.root, root)) found.push("the seeds do not give the sealed root");
  for (const { position, card } of document.cards) {
    if (shoe.cards[position] !== card) found.push(`the seeds give another card at position ${position}`);
  }
  return found;
}

if (globalThis.process?.argv[1]?.endsWith("verify-card.mjs")) {
  const { readFileSync } = await import("node:fs");
  const file = process.argv[2] ?? "-";
  const document = JSON.parse(readFileSync(file === "-" ? 0 : file, "utf8")), found = await problems(document);
  if (!document.cards.length && document.server_seed === undefined) found.push("there is nothing to check");
  console.log(found.length ? found.join("\n") : "holds");
  process.exitCode = found.length ? 1 : 0;
}
