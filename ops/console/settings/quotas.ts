import { bytesText } from '../ui/bytes.ts';
import { wordsOfName } from '../ui/field-words.ts';

/** Quotas only grow, so their names are read instead of listed; the amount says that one is in bytes. */
export function quotaName(name: string): string {
  return wordsOfName(name.replace(/Bytes$/, 'Storage'));
}

export function quotaAmount(name: string, amount: number): string {
  return name.endsWith('Bytes') ? bytesText(amount) : amount.toLocaleString();
}
