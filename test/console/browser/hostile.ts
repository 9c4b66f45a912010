import { expect, test } from 'vitest';
import { aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { expectAccessible, expectNoSidewaysScroll, HOSTILE, type Stage } from './stage.ts';

/** A megabyte that cannot be compressed. */
const LARGE_CELL = `let cell = ${JSON.stringify(HOSTILE)};
while (cell.length < 1_000_000) cell += Math.random().toString(36);
return { cell };`;

/** Pages with data that is made to break them. */
export function hostileTests(stage: () => Stage): void {
  let instanceID: string;
  const pages = [
    { name: 'home', path: () => '' },
    { name: 'runs', path: () => '/runs' },
    { name: 'inbox', path: () => '/inbox' },
    { name: 'run', path: () => `/runs/${instanceID}?view=timeline&step=big` },
    { name: 'log', path: () => `/runs/${instanceID}?view=graph&step=say&tab=logs` },
  ];

  test('a run with hostile data', async () => {
    const { cluster, tenant } = stage();
    const { id } = await aWorkflow(cluster, {
      tenant,
      title: HOSTILE.slice(0, 200),
      ...graph(
        {
          start: { type: 'start', title: HOSTILE },
          big: { type: 'javascript', title: HOSTILE, code: LARGE_CELL },
          say: { type: 'log', level: 'warn', message: HOSTILE },
          ask: { type: 'dataCollection', title: HOSTILE, description: HOSTILE, fields: [{ key: 'a', label: HOSTILE }] },
        },
        ['start>big', 'big>say', 'say>ask'],
      ),
    });
    const client = cluster.as(tenant.creator).in(tenant);
    const { body } = await client.post(`T/workflows/${id}/execute`, {
      args: { cell: HOSTILE.repeat(500) },
      tags: ['<b>'],
    });
    instanceID = body.instanceID;
    await eventually(async () => {
      const { body: run } = await client.get(`T/workflows/instances/${instanceID}`);
      expect(run, JSON.stringify(run.error)).toMatchObject({ status: 'WAITING' });
    });
  });

  test.each(pages)('$name shows it as text, and does not scroll sideways', async ({ name, path }) => {
    const { page, go, path: pathOf } = stage();
    const shows = '<img src=x onerror=';
    await go(pathOf(path()));
    // No other test looks at a log.
    if (name === 'log') await expectAccessible(page, { name, shows, schemes: ['light'] });
    else await expectNoSidewaysScroll(page, shows);
    expect(await page.locator('img[src="x"]').count()).toBe(0);
  });

  test('a cell of a megabyte is loaded when asked for, and shown in part', async () => {
    const { page, go, path } = stage();
    await go(path(`/runs/${instanceID}?view=timeline&step=big`));
    await page.getByRole('button', { name: 'Load it' }).click();
    await page.getByText(/The first 50,000 of [\d,]+ characters/).waitFor();
    const cell = await page.locator('pre', { hasText: 'onerror' }).last().textContent();
    expect(cell).toContain('\\u202egnp.exe');
    expect(cell).not.toContain('\u202e');
    await go(path(`/runs/${instanceID}?view=timeline&step=say&tab=input`));
    await page.getByText(/The first 50,000 of 1,[\d,]+ characters/).waitFor();
    const boxOf = (label: string) => page.getByLabel(label).boundingBox();
    const [input, output] = [await boxOf('Context of the step'), await boxOf('Output of the step')];
    expect(output?.x).toBeGreaterThanOrEqual((input?.x ?? 0) + (input?.width ?? 0));
    const given = await page.getByLabel('Context of the step').textContent();
    expect(given).toContain('\\u202egnp.exe');
    expect(given).not.toContain('\u202e');
    expect(await page.locator('img[src="x"]').count()).toBe(0);
  });
}
