/** An address that a link may have; null for one that would run code or read files. */
export function safeAddress(text: string, base: string): string | null {
  if (!URL.canParse(text, base)) return null;
  const address = new URL(text, base);
  return ['http:', 'https:', 'mailto:', 'tel:'].includes(address.protocol) ? address.href : null;
}
