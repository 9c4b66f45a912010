const SUFFIX = ' (Copy)';

/** The title of a copy, within the 255 characters that a title may have. */
export function titleOfCopy(title: string): string {
  return `${title.slice(0, 255 - SUFFIX.length)}${SUFFIX}`;
}
