import { expect, test } from 'vitest';
import { routeGroups } from '#api/resources/index.ts';
import { describingTools } from '#api/tools/describe.ts';
import { inTurns } from '#shared/concurrency/cooperative.ts';
import { longestHold } from '../../support/event-loop.ts';

const MAX_MS = 50;

test('describing the tools, which the first request of a model waits for, holds up no other request', async () => {
  const longest = await longestHold(MAX_MS, () => inTurns(describingTools(routeGroups)));
  expect(longest).toBeLessThan(MAX_MS);
});
