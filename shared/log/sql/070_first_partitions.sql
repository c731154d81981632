SELECT log.add_partition(category) FROM unnest(ARRAY['table', 'shuffle', 'wallet', 'audit']) AS category;
