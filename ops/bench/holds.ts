import { figuresOf } from './on-test-servers.ts';
import type { Row } from './row.ts';

/**
 * The longest time for which a large or hostile request holds the event loop of the API, or of the worker that it asks, in processor
 * time. The floor is what parsing and writing as much JSON takes in the same process. The backplane makes no difference.
 */
export const holds: Row = async (environment) =>
  environment.kind === 'redis' ? [] : figuresOf('holds-of-requests.ts', chosenHolds(), environment);

/** `HOLDS=bundle npm run bench HOLDS` measures the parts with this word in their name alone. */
function chosenHolds(): string[] {
  return process.env.HOLDS ? [process.env.HOLDS] : [];
}
