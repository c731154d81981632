"""The settings of a draw poker table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from shared.games import settings as reading
from shared.games.draw_pots import Rake


@dataclass(frozen=True, slots=True)
class Settings:
    """`side_pots`: `all_in` (DRW-12). `check_carries` and `tie_carries`: `unplayed_after_exchange`;
    `newcomers_only`: `half_pot_paid_by` (DRW-10). `min_bet` in minor units, `None`: the ante."""

    side_pots: bool
    check_carries: bool
    tie_carries: bool
    newcomers_only: bool
    min_bet: int | None
    rake: Rake


def settings(raw: reading.Raw) -> Settings:
    """The settings of a draw poker table; `SettingError` names the one at fault."""
    reading.only(
        raw,
        (
            "all_in",
            "unplayed_after_exchange",
            "half_pot_paid_by",
            "min_bet",
            "rake_percent",
            "rake_cap",
        ),
    )
    all_in = reading.word(raw, "all_in", "match_or_fold", ("match_or_fold", "side_pots"))
    unplayed = reading.word(
        raw, "unplayed_after_exchange", "all_check", ("all_check", "tie", "both")
    )
    payers = reading.word(raw, "half_pot_paid_by", "everyone", ("everyone", "newcomers"))
    return Settings(
        side_pots=all_in == "side_pots",
        check_carries=unplayed != "tie",
        tie_carries=unplayed != "all_check",
        newcomers_only=payers == "newcomers",
        min_bet=reading.whole_or_none(raw, "min_bet", low=1),
        rake=Rake(
            reading.ratio(raw, "rake_percent", Fraction(0), most=100),
            reading.whole_or_none(raw, "rake_cap"),
        ),
    )
