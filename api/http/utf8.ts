import { isUtf8 } from 'node:buffer';

/**
 * Whether the bytes that percent signs stand for are UTF-8: of a query, or of a form. Others would be read, and stored, as
 * characters that nobody has sent.
 */
export function isEncodedUTF8(text: string): boolean {
  if (!text.includes('%')) return true;
  const decode = (_match: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16));
  return isUtf8(Buffer.from(text.replace(/%([\da-f]{2})/gi, decode), 'latin1'));
}
