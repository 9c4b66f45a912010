import { discover } from '../../auth/discovery.ts';

/** How long a page waits for the provider. */
const TIMEOUT_MS = 1_000;
const FRESH_MS = 600_000;
/** How long after a failure the provider is asked again. */
const REST_MS = 5_000;

/**
 * The origins that a page which signs in has to reach: the provider's own, and that of its token endpoint, which some have on another
 * host (accounts.google.com and oauth2.googleapis.com). While the provider cannot be reached, those that were read before.
 */
export function createProviderOrigins(issuer: string | undefined): () => Promise<readonly string[]> {
  let known: readonly string[] = issuer && URL.canParse(issuer) ? [new URL(issuer).origin] : [];
  let readAgainAt = 0;
  let reading: Promise<void> | undefined;

  async function read(issuerURL: string): Promise<void> {
    try {
      const { token_endpoint: endpoint } = await discover(issuerURL, TIMEOUT_MS);
      const origins = [issuerURL, endpoint ?? issuerURL]
        .map((url) => new URL(url))
        .filter(({ protocol }) => /^https?:$/.test(protocol));
      known = [...new Set(origins.map(({ origin }) => origin))];
      readAgainAt = performance.now() + FRESH_MS;
    } catch {
      // The log reports the failure with the first token, which needs the provider's keys.
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
