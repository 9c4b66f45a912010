import { expect, test } from 'vitest';
import { aListener, aWorkflow, chain } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { expectAccessible, type Stage } from './stage.ts';

/** The page of a run: its graph beside the panel, what failed and why, and the ways that lead from it. */
export function runPageTests(stage: () => Stage): void {
  /** A run that fails in the second step, whose address no input has given. */
  const aFailedRun = async () => {
    const { cluster, tenant } = stage();
    const nodes = {
      start: { type: 'start' },
      rows: { type: 'set', title: 'Prepare the rows', assignments: [{ name: 'n', value: '1' }] },
      send: { type: 'http', title: 'Send the rows', url: '{{ctx.input.address}}' },
      end: { type: 'end' },
    };
    const edges = ['start>rows', 'rows>send', 'send>end'];
    const { id } = await aWorkflow(cluster, { tenant, title: 'Export of rows', ...graph(nodes, edges) });
    const client = cluster.as(tenant.creator).in(tenant);
    const { body } = await client.post(`T/workflows/${id}/execute?wait=10`, { args: { address: 'ftp://example.com' } });
    expect(body.status).toBe('FAILED');
    return { workflowID: id, instanceID: body.instanceID as string };
  };

  test('a failed run opens with the step that failed: its title, the field, and what to do', async () => {
    const { page, go, path } = stage();
    await page.setViewportSize({ width: 1280, height: 800 });
    const { instanceID } = await aFailedRun();
    await go(path(`/runs/${instanceID}`));
    const panel = page.getByRole('complementary', { name: 'Step' });
    await panel.getByRole('heading', { name: 'Send the rows' }).waitFor();
    const error = panel.getByRole('tabpanel', { name: 'Error' });
    await error.getByText(/at “Send the rows”/).waitFor();
    await error.getByText('What to do:').waitFor();
    // The graph has all that the head leaves of the window, and the panel lies over its right part.
    const around = await page.getByRole('region', { name: /^Graph of the run/ }).boundingBox();
    const box = await panel.boundingBox();
    expect((around?.y ?? 0) + (around?.height ?? 0)).toBeGreaterThan(760);
    expect(around?.height).toBeGreaterThan(440);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThan((around?.x ?? 0) + (around?.width ?? 0));
    // The chosen step is beside the panel.
    const card = page.locator('.react-flow__node[data-id="send"]');
    const at = await card.boundingBox();
    expect((at?.x ?? 999) + (at?.width ?? 0)).toBeLessThanOrEqual(box?.x ?? 0);
    await expectAccessible(page, { name: 'run-failed', shows: 'What to do:' });

    await page.setViewportSize({ width: 1280, height: 800 });
    await panel.getByRole('button', { name: 'Close the step' }).click();
    await panel.waitFor({ state: 'hidden' });
    await page.getByText(/at “Send the rows”/).waitFor();
    await page.getByRole('button', { name: 'Input and output' }).click();
    await page.getByLabel('Input of the run').getByText('"ftp://example.com"').waitFor();
    // Enter leads to the panel of a step, Escape back to the step.
    await page.locator('.react-flow__node[data-id="rows"]').press('Enter');
    await panel.getByRole('heading', { name: 'Prepare the rows' }).waitFor();
    await expect.poll(() => panel.evaluate((element: Matched) => element.matches(':focus'))).toBe(true);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'hidden' });
    await expect
      .poll(() =>
        page.locator('.react-flow__node[data-id="rows"]').evaluate((element: Matched) => element.matches(':focus')),
      )
      .toBe(true);
    await page.getByRole('button', { name: 'Show the step' }).click();
    await panel.getByRole('heading', { name: 'Send the rows' }).waitFor();
    expect(new URL(page.url()).searchParams.get('step')).toBe('send');
  });

  test('a run leads to the version that ran, to its step in the editor, to what has started it, and back', async () => {
    const { cluster, tenant, page, go, path } = stage();
    await page.setViewportSize({ width: 1280, height: 800 });
    const { workflowID, instanceID } = await aFailedRun();
    const client = cluster.as(tenant.creator).in(tenant);
    const { body: saved } = await client.get(`T/workflows/${workflowID}`);
    const nodes = saved.workflow.workflowNodes.map((node: { id: string; data: object }) =>
      node.id === 'send' ? { ...node, data: { ...node.data, title: 'Send them later' } } : node,
    );
    await client.patch(`T/workflows/${workflowID}`, { workflowNodes: nodes });
    await go(path(`/runs/${instanceID}`));
    await page.getByText('you', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'version 1, the one that ran' }).click();
    await page.getByText('Version 1 of 2').waitFor();
    await page.locator('[aria-label^="Send the rows, "]').waitFor();
    await expectAccessible(page, { name: 'version', shows: 'Version 1 of 2' });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goBack();
    // A workflow that was mended since is not repeated as it was.
    await page.getByRole('button', { name: 'Re-run from this step' }).click();
    const dialog = page.getByRole('dialog');
    await expect
      .poll(() => dialog.getByRole('combobox', { name: 'Version' }).inputValue())
      .toBe('The published one (2)');
    await dialog.getByText('Version 2 was published after the one that ran').waitFor();
    expect(await dialog.getByRole('combobox', { name: /^Step/ }).inputValue()).toBe('Send the rows');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('link', { name: 'Edit this step' }).click();
    const panel = page.getByRole('complementary', { name: 'Step' });
    // The editor shows the results of the run that one comes from.
    await panel.getByRole('tab', { name: 'Settings', selected: true }).waitFor();
    await panel.getByRole('tab', { name: 'Result Failed' }).waitFor();
    await page.getByText('the run that you come from').waitFor();
    await expectAccessible(page, { name: 'editor-from-run', shows: 'the run that you come from', schemes: ['light'] });
    await expect.poll(() => panel.getByLabel('Title').inputValue()).toBe('Send them later');
    // The field that the error names says so until it has another value.
    const named = panel.getByText('Failed in the run that is shown:');
    await named.waitFor();
    await panel.getByRole('textbox', { name: 'URL' }).fill('https://example.com');
    await named.waitFor({ state: 'detached' });
    await panel.getByRole('tab', { name: 'Result Failed' }).click();
    await panel.getByRole('tab', { name: 'Settings' }).click();
    await panel.getByRole('textbox', { name: 'URL' }).waitFor();
    expect(await named.count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Runs of this workflow' }).click();
    await page.getByRole('table', { name: 'Runs, newest first' }).getByText('Export of rows').waitFor();
    expect(new URL(page.url()).searchParams.get('workflowID')).toBe(workflowID);

    const schedule = { cronJobTitle: 'Every new year', cronJobType: 'workflow', cronJobSchedule: '0 3 1 1 *' };
    const { cronJobID } = (await client.post('T/cronjobs', { ...schedule, workflowID })).body.cronJob;
    await client.post(`T/cronjobs/${cronJobID}/run`);
    const actions = [{ actionType: 'trigger_workflow', actionConfig: { workflowID } }];
    const { id: listenerID } = await aListener(cluster, { tenant, title: 'Deliveries', actions });
    await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${listenerID}`, { method: 'POST', body: '{}' });
    for (const [origin, name] of [
      ['cron', 'Every new year'],
      ['listener', 'Deliveries'],
    ]) {
      await go(path(`/runs?workflowID=${workflowID}&origin=${origin}`));
      await page.getByRole('link', { name: 'Export of rows' }).click();
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { name, level: 1 }).waitFor();
    }
    expect(new URL(page.url()).searchParams.get('event')).not.toBeNull();
    await page.getByLabel('Body of the event').waitFor();
  });

  test('the graph stands in the middle of what the panel leaves free, is read without a zoom, and shows where the run is', async () => {
    const { cluster, tenant, page, go, path } = stage();
    await page.setViewportSize({ width: 1280, height: 800 });
    const client = cluster.as(tenant.creator).in(tenant);
    const set = { type: 'set', assignments: [{ name: 'n', value: '1' }] };
    const stepsOf = async (steps: Record<string, typeof set | { type: string; delayMinutes: number }>) => {
      const { id } = await aWorkflow(cluster, { tenant, title: 'Of some steps', ...chain(steps) });
      const { body } = await client.post(`T/workflows/${id}/execute`, {});
      await eventually(async () => {
        const { status } = (await client.get(`T/workflows/instances/${body.instanceID}`)).body;
        expect(status).toMatch(/^(WAITING|COMPLETED)$/);
      });
      await go(path(`/runs/${body.instanceID}`));
    };
    const boxOf = async (step: string) => {
      const boxes = [page.locator(`[data-id="${step}"]`), page.locator('section.graph'), page.locator('.studio-panel')];
      const [card, graph, panel] = await Promise.all(boxes.map((box) => box.boundingBox()));
      if (!card || !graph || !panel) throw new Error('Not drawn yet');
      const aside = card.x + card.width / 2 - (graph.x + panel.x) / 2;
      const isInView = card.y > graph.y && card.y + card.height < graph.y + graph.height;
      return { isInMiddle: Math.abs(aside) < 12, isInView, isReadable: card.width > 216 * 0.55 };
    };
    const good = { isInMiddle: true, isInView: true, isReadable: true };
    await stepsOf({ first: set });
    await expect.poll(() => boxOf('first').catch(String)).toEqual(good);
    const wait = { type: 'delay', delayMinutes: 60 };
    await stepsOf({ a: set, b: set, c: set, d: set, e: set, f: set, wait });
    await expect.poll(() => boxOf('wait').catch(String)).toEqual(good);
    await page.getByRole('button', { name: 'Fit View' }).click();
    await expect.poll(() => boxOf('start').catch(String)).toMatchObject({ isInMiddle: true, isInView: true });
    expect(await boxOf('end')).toMatchObject({ isInMiddle: true, isInView: true });
  });

  test('while an operator has paused the queue of runs, the page of a run and Home say so', async () => {
    const { cluster, tenant, page, go, path } = stage();
    const { id } = await aWorkflow(cluster, {
      tenant,
      title: 'Begins later',
      ...graph({ start: { type: 'start' } }, []),
    });
    const queue = cluster.context.messaging.backplane.queue('workflow.runs');
    await queue.pause();
    try {
      const { body } = await cluster.as(tenant.creator).in(tenant).post(`T/workflows/${id}/execute`, {});
      await go(path(`/runs/${body.instanceID}`));
      await page.getByText('An operator of this deployment has paused the queue of runs.').waitFor();
      await go(path());
      const paused = page.getByRole('region', { name: 'Paused' });
      await paused.getByText('Paused by an operator').waitFor();
      await expectAccessible(page, { name: 'home-paused', shows: 'Paused by an operator', schemes: ['light'] });
    } finally {
      await queue.resume();
    }
    await cluster.as(tenant.creator).in(tenant).post(`T/workflows/${id}/pause`, {});
    await page.reload();
    await page.getByRole('button', { name: 'Resume Begins later' }).click();
    await page.getByRole('region', { name: 'Paused' }).waitFor({ state: 'hidden' });
  });
}

/** An element, for which this project has no type. */
interface Matched {
  matches(selector: string): boolean;
}
