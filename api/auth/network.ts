import { isIPv6 } from 'node:net';

/**
 * The unit that throttling counts: an IPv4 address, or the /64 of an IPv6 address, within which one subscriber chooses
 * addresses freely.
 */
export function networkOf(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped) return mapped;
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return address;
  const [head = '', tail] = plain.split('::');
  const first = head.split(':').filter(Boolean);
  const last = tail?.split(':').filter(Boolean) ?? [];
  // A dotted IPv4 end takes the place of two groups.
  const written = first.length + last.length + (plain.includes('.') ? 1 : 0);
  const groups = [...first, ...Array<string>(tail === undefined ? 0 : 8 - written).fill('0'), ...last];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
