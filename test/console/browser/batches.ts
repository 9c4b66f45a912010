import { expect, test } from 'vitest';
import { aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { expectAccessible, type Stage } from './stage.ts';

/** Batches of runs: their list, how far each is, what of it failed, and their end. */
export function batchTests(stage: () => Stage): void {
  test('a batch says how many of its runs have ended and which failed, leads to them and back, and is cancelled', async () => {
    const { cluster, tenant, page, go, path } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const isFirst = [{ operator: 'equals', leftValue: '{{ctx.input.n}}', rightValue: 1 }];
    const nodes = {
      start: { type: 'start' },
      check: { type: 'condition', branches: [{ id: 'first', conditions: isFirst }] },
      fail: { type: 'end', status: 'failure', message: 'too many' },
      wait: { type: 'delay', delayMinutes: 60 },
    };
    const { id } = await aWorkflow(cluster, {
      tenant,
      title: 'In bulk',
      ...graph(nodes, ['start>check', 'check:first>wait', 'check:default>fail']),
    });
    const items = [1, 2, 3].map((n) => ({ args: { n } }));
    await client.post(`T/workflows/${id}/execute/bulk`, { items, label: 'Orders of March' });

    await go(path('/runs'));
    await page.getByRole('link', { name: 'Batches' }).click();
    const row = page.getByRole('row', { name: /^Orders of March In bulk/ });
    await row.waitFor();
    await expectAccessible(page, { name: 'batches', shows: 'Orders of March' });
    await page.setViewportSize({ width: 1280, height: 800 });
    await row.getByRole('link', { name: 'Orders of March' }).click();
    await page.getByText('2 of 3 runs have ended.').waitFor();
    const failed = page.getByRole('region', { name: 'Failed runs' });
    await expect.poll(() => failed.getByRole('link').count()).toBe(2);
    await failed.getByText('The step failed').first().waitFor();
    await expectAccessible(page, { name: 'batch', shows: 'Failed runs' });
    await page.setViewportSize({ width: 1280, height: 800 });
    await failed.getByRole('link').first().click();
    await page.getByText('too many').first().waitFor();
    const batch = page.locator('.facts').getByRole('link', { name: /^[0-9a-f]{8}$/ });
    await batch.click();
    await page.getByRole('button', { name: 'Cancel what has not ended' }).click();
    await page.getByText('3 of 3 runs have ended.').waitFor();
    await page.getByRole('link', { name: /^Cancelled 1$/ }).click();
    await page.getByRole('table', { name: 'Runs, newest first' }).getByText('In bulk').waitFor();
    expect(new URL(page.url()).searchParams.get('status')).toBe('CANCELLED');
  });
}
