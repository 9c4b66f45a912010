import { expect, test } from 'vitest';
import { routeGroups } from '#api/app/routes.ts';
import { describingTools } from '#api/tools/describe.ts';

test('describing the tools, which the first request of a model waits for, may give way after each', () => {
  const steps = describingTools(routeGroups);
  let pauses = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) pauses += 1;

  expect(pauses).toBeGreaterThanOrEqual(step.value.length);
});
