import { expect, test, vi } from 'vitest';
import { eventLoop } from '#shared/concurrency/event-loop-scheduler.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { eventually } from '#test/support/settle.ts';

test('on Postgres a consumer gets a large job after a pause, and a small one at once', async () => {
  await using deployment = await startDeployment();
  const config = { ...deployment.config.backplane, redis: undefined };
  await using backplane = await createBackplane(config, testLogger);
  await backplane.migrate();
  const pause = Promise.withResolvers<void>();
  using yields = vi.spyOn(eventLoop, 'yield').mockReturnValue(pause.promise);
  const processed: string[] = [];
  await using consumers = new AsyncDisposableStack();
  const consume = () => {
    const consumer = backplane.worker(workflowRuns.name, async ({ name }) => void processed.push(name), {
      ...{ concurrency: 1, maxStalledCount: 1, leaseMs: 30_000 },
    });
    consumers.defer(() => consumer.close(true));
    void consumer.run();
  };
  const add = (name: string, characters: number) =>
    backplane.add(workflowRuns.name, [{ name, data: { text: 'x'.repeat(characters) } }]);

  consume();
  await add('large', 600_000);
  await eventually(() => expect(yields.mock.calls.length + processed.length).toBe(1));
  expect(processed).toEqual([]);
  consume();
  await add('small', 400_000);
  await eventually(() => expect(processed).toEqual(['small']));
  expect(yields).toHaveBeenCalledTimes(1);
  pause.resolve();
  await eventually(() => expect(processed).toEqual(['small', 'large']));
});
