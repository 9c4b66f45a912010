const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** Quotas only grow, so their names are read instead of listed: `aiTokensPerDay` is "AI tokens per day". */
export function quotaName(name: string): string {
  const words = name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const known = words
    .replace(/^ai\b/, 'AI')
    .replace(/^api\b/, 'API')
    .replace(/^oauth\b/, 'OAuth');
  return known.charAt(0).toUpperCase() + known.slice(1);
}

export function quotaAmount(name: string, amount: number): string {
  if (!name.endsWith('Bytes')) return amount.toLocaleString();
  const power = amount < 1 ? 0 : Math.min(Math.floor(Math.log2(amount) / 10), units.length - 1);
  return `${(amount / 1_024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
