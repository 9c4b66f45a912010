const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** A size as people read it, such as 2.0 MB. */
export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  return `${(bytes / 1_024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
