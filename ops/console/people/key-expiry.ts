/** How long a key is valid, as a person chooses it. */
export type Lifetime = '30' | '90' | '365' | 'date' | 'never';

/** As many days as a key has that is created by the API without an expiry. */
export const USUAL: Lifetime = '90';

export interface Expiry {
  lifetime: Lifetime;
  /** As a field of a date holds it, for a lifetime until a date. */
  date: string;
}

const DAY_MS = 86_400_000;

/** When a key expires that is created now: null for never, undefined for a date that is not entered or not in the future. */
export function expiresAt({ lifetime, date }: Expiry, now: number): Date | null | undefined {
  if (lifetime === 'never') return null;
  if (lifetime !== 'date') return new Date(now + Number(lifetime) * DAY_MS);
  // The whole day counts, in the time of the browser.
  const at = date === '' ? Number.NaN : new Date(`${date}T23:59:59`).getTime();
  return Number.isNaN(at) || at <= now ? undefined : new Date(at);
}
