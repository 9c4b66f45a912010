/** Rows counted from 1, columns from 0; `right` is the first column outside. */
export interface Range {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

/** Parses `A1:D100` or `A1:D`; an empty text is the whole sheet. */
export function parseRange(text: string): Range {
  const parts = /^([A-Z]+)(\d+):([A-Z]+)(\d*)$/i.exec(text);
  if (!parts) return { top: 1, bottom: Number.POSITIVE_INFINITY, left: 0, right: Number.POSITIVE_INFINITY };
  const [, left = '', top, right = '', bottom] = parts;
  return {
    top: Number(top),
    bottom: bottom ? Number(bottom) : Number.POSITIVE_INFINITY,
    left: columnIndex(left),
    right: columnIndex(right) + 1,
  };
}

/** Name of a column in spreadsheets: A … Z, AA … */
export function columnName(index: number): string {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : columnName(Math.floor(index / 26) - 1) + last;
}

function columnIndex(name: string): number {
  return [...name.toUpperCase()].reduce((index, letter) => index * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}
