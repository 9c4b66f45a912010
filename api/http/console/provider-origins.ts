import { discover } from '../../auth/discovery.ts';

/** A page waits no longer for the provider. */
const TIMEOUT_MS = 1_000;
const FRESH_MS = 600_000;
/** After a failure. */
const REST_MS = 5_000;

/**
 * The origins that a page which signs in has to reach: the provider's own, and that of its token endpoint, which is another at some
 * (accounts.google.com and oauth2.googleapis.com). While the provider is away, those that are known.
 */
export function createProviderOrigins(issuer: string | undefined): () => Promise<readonly string[]> {
  let known: readonly string[] = issuer && URL.canParse(issuer) ? [new URL(issuer).origin] : [];
  let readAgainAt = 0;
  let reading: Promise<void> | undefined;

  async function read(of: string): Promise<void> {
    try {
      const { token_endpoint: endpoint } = await discover(of, TIMEOUT_MS);
      const origins = [of, endpoint ?? of]
        .map((url) => new URL(url))
        .filter(({ protocol }) => /^https?:$/.test(protocol));
      known = [...new Set(origins.map(({ origin }) => origin))];
      readAgainAt = performance.now() + FRESH_MS;
    } catch {
      // Told by the log with the first token, which needs the provider's keys.
      readAgainAt = performance.now() + REST_MS;
    }
  }

  return async () => {
    if (known.length > 0 && issuer && performance.now() >= readAgainAt) {
      reading ??= read(issuer).finally(() => {
        reading = undefined;
      });
      await reading;
    }
    return known;
  };
}
