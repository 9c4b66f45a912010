/** Characters of a name, as the column holds them. */
const MAX_NAME = 255;
/** Control characters and invisible ones, but for those that join letters of Persian or parts of an emoji. */
const UNWANTED = /(?!\u200C|\u200D|[\u{E0020}-\u{E007F}])[\p{C}/\\]/gu;

/** The name that a client gives a file, without a path. One that is too long loses the end of what stands before its extension. */
export function cleanFileName(name = ''): string {
  const clean = name.replace(UNWANTED, '');
  if (clean.length <= MAX_NAME) return clean || 'file';
  const extension = /\.[\p{L}\p{N}_-]{1,20}$/u.exec(clean)?.[0] ?? '';
  return beginningOf(clean.slice(0, clean.length - extension.length), MAX_NAME - extension.length) + extension;
}

/** As many whole characters, as people count them, as fit. */
function beginningOf(text: string, maxLength: number): string {
  let end = 0;
  for (const { index, segment } of new Intl.Segmenter().segment(text.slice(0, 2 * maxLength))) {
    if (index + segment.length > maxLength) break;
    end = index + segment.length;
  }
  return text.slice(0, end);
}
