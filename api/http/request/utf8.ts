import { isUtf8 } from 'node:buffer';

/**
 * Whether the percent-encoded bytes of a query or form are UTF-8. Others would be stored as characters that the client did not
 * send.
 */
export function isEncodedUTF8(text: string): boolean {
  if (!text.includes('%')) return true;
  const decode = (_match: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16));
  return isUtf8(Buffer.from(text.replace(/%([\da-f]{2})/gi, decode), 'latin1'));
}
