import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { choose, tabTo } from './keys.ts';
import { expectAccessible, forgetRefusals, type Stage } from './stage.ts';

/** Markup, which pages show as text. */
const CUSTOMER = '<img src=x onerror=alert(1)>';

/** Signing in, the list of runs, a run, and the inbox. */
export function runTests(stage: () => Stage): void {
  let runPath: string;

  test('by keyboard alone: signs in, starts the order sample, watches it, answers its questions and reads the result', async () => {
    const { cluster, tenant, visit, open, path } = stage();
    const page = await visit(`${cluster.baseURL}/console/sign-in?next=/t/${tenant.id}/runs`);
    await expectAccessible(page, { name: 'sign-in', shows: 'E-mail address' });
    const { keyboard } = page;
    const type = async (text: string) => {
      await keyboard.press('Control+a');
      await keyboard.type(text);
    };
    const press = async (target: Locator) => {
      await tabTo(page, target);
      await keyboard.press('Enter');
    };
    // One click signs a first visitor in.
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('you@example.com');
    await tabTo(page, page.getByLabel('E-mail address'));
    await type(tenant.creator.email);
    await keyboard.press('Enter');

    await page.getByRole('button', { name: 'Start a run' }).waitFor();
    await keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Closes a dialog').waitFor();
    await expectAccessible(page, { name: 'keys', shows: 'Closes a dialog' });
    await keyboard.press('Escape');
    await keyboard.press('Control+k');
    await tabTo(page, page.getByRole('combobox', { name: 'Command' }));
    await keyboard.type('open order');
    await page.getByRole('option', { name: 'Open the workflow Order approval', selected: true }).waitFor();
    await expectAccessible(page, { name: 'palette', shows: 'Open the workflow' });
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Order approval' }).waitFor();
    // No person has arranged the sample: it is laid out from top to bottom.
    await page.locator('.react-flow__handle-bottom.source').first().waitFor();
    expect(await page.locator('.react-flow__handle-right').count()).toBe(0);
    await keyboard.press('Control+k');
    await tabTo(page, page.getByRole('combobox', { name: 'Command' }));
    await keyboard.type('go runs');
    await page.getByRole('option', { name: 'Go to Runs', selected: true }).waitFor();
    await keyboard.press('Enter');
    await press(page.getByRole('button', { name: 'Start a run' }));
    const dialog = page.getByRole('dialog');
    await tabTo(page, dialog.getByLabel('Workflow').first());
    await keyboard.type('Order');
    await choose(page, 'Order approval');
    for (const [label, text] of [
      ['orderID', 'A-1'],
      ['customer', CUSTOMER],
      ['total', '900'],
    ] as const) {
      await tabTo(page, dialog.getByLabel(label));
      await type(text);
    }
    await keyboard.press('Enter');
    await page.getByRole('link', { name: 'Answer the question' }).waitFor();
    // Told in the room of the tenant.
    await page.getByRole('link', { name: /^Inbox, \d+ waiting/ }).waitFor();
    await page.setViewportSize({ width: 320, height: 800 });
    // Beside the number of what waits, the name of the tenant can be read.
    const tenantName = page.getByRole('combobox', { name: 'Tenant' }).or(page.getByRole('textbox', { name: 'Tenant' }));
    expect((await tenantName.boundingBox())?.width).toBeGreaterThan(80);
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/header-320.png` });
    await page.setViewportSize({ width: 1280, height: 800 });
    runPath = new URL(page.url()).pathname;
    await press(page.getByRole('link', { name: 'Answer the question' }));

    await press(page.getByRole('button', { name: 'Accept' }));
    await page.getByText('The question is answered. It was approved.').waitFor();
    await page.getByText('is one of “Order approval”').waitFor();
    await page.getByRole('link', { name: 'To the inbox' }).waitFor();
    await press(page.getByRole('link', { name: 'The run that asks' }));
    await press(page.getByRole('link', { name: 'Answer the question' }));
    await page.getByRole('heading', { name: 'Choose the delivery of order A-1' }).waitFor();
    // From here on without a reload: what follows is told by the socket.
    const watching = await open(tenant.creator, { at: runPath.slice(path().length) });
    await watching.getByRole('status').getByText('Waiting').waitFor();
    await tabTo(page, page.getByRole('combobox', { name: 'Carrier' }));
    await keyboard.press('Enter');
    await choose(page, 'express');
    await press(page.getByRole('button', { name: 'Send' }));

    await watching.getByRole('status').getByText('Completed').waitFor();
    await watching.getByLabel('Output of the run').getByText('"express"').waitFor();
    await watching.getByText('Timeline', { exact: true }).click();
    for (const step of ['Record the order', 'Choose the delivery of order A-1', 'Store the decision', 'End'])
      await watching.getByRole('row', { name: new RegExp(`${step} Success`) }).waitFor();
    expect(await watching.getByRole('row').filter({ hasText: 'Success' }).count()).toBe(8);
    await watching.close();

    await press(page.getByRole('link', { name: 'The run that asks' }));
    await page.getByRole('status').getByText('Completed').waitFor();
    await tabTo(page, page.getByLabel('Output of the run'));
    expect(await page.getByLabel('Output of the run').textContent()).toContain('"express"');
    await press(page.locator('[aria-label^="Record the order, "]'));
    await page.getByRole('heading', { name: 'Record the order' }).waitFor();
    await tabTo(page, page.getByRole('tab', { name: 'Output', exact: true }));
    await keyboard.press('ArrowLeft');
    const given = page.getByLabel('Input of the step');
    await given.getByText('<img src=x onerror=alert(1)>').waitFor();
    expect(await given.textContent()).not.toContain('{{');
    await page.close();
  }, 150_000);

  test('a run is found by the filters in the address, and repeated from a step', async () => {
    const { page, go, path } = stage();
    await go(path('/runs?status=FAILED'));
    await page.getByText('No run matches the filter.').waitFor();
    await go(path('/runs?status=COMPLETED'));
    await page.getByLabel('Search', { exact: true }).fill('no such order');
    await page.keyboard.press('Enter');
    await page.getByText('No run matches the filter.').waitFor();
    await page.getByLabel('Search', { exact: true }).fill('order APP');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Order approval' }).first().waitFor();
    expect(new URL(page.url()).searchParams.get('search')).toBe('order APP');
    await page.getByRole('combobox', { name: 'Time' }).click();
    await page.getByRole('option', { name: 'Between two times' }).click();
    await page.getByLabel('To', { exact: true }).fill('2020-01-02T03:04');
    await page.getByText('No run matches the filter.').waitFor();
    expect(new URL(page.url()).searchParams.get('to')).toContain('2020-01-02T');
    await page.getByLabel('To', { exact: true }).fill('');
    await page.getByLabel('From', { exact: true }).fill('2020-01-02T03:04');
    expect(new URL(page.url()).searchParams.get('status')).toBe('COMPLETED');
    await page.getByRole('link', { name: 'Order approval' }).first().click();
    await page.locator('[data-id="record"] .node-line', { hasText: /^insert into/ }).waitFor();
    await page.getByRole('button', { name: 'Re-run' }).click();
    await page.getByText(/^Asks again, although it was answered: .*Choose the delivery of order/).waitFor();
    await page.getByRole('radio', { name: /^A step/ }).click();
    await page.getByRole('combobox', { name: /^Step/ }).click();
    await page.getByRole('option', { name: 'Store the decision' }).click();
    const willDo = page.getByRole('region', { name: 'What it will do' });
    await willDo.getByText(/Takes over the results of .*Record the order/).waitFor();
    await expectAccessible(page, { name: 'rerun', shows: 'What it will do', schemes: ['light'] });
    // The inputs that the workflow declares, as the run was given them.
    const inputs = page.getByRole('dialog').getByRole('group', { name: 'Inputs' });
    expect(await inputs.getByLabel('customer').inputValue()).toBe(CUSTOMER);
    await inputs.getByLabel('total').fill('many');
    await inputs.getByText('expected a number, received "many"').waitFor();
    forgetRefusals(stage(), 400);
    await inputs.getByLabel('total').fill('900');
    await inputs.getByLabel('customer').fill('Ada');
    await page.getByRole('dialog').getByRole('button', { name: 'Re-run' }).click();

    await page.getByText('Repeats').waitFor();
    expect(page.url()).not.toContain(runPath);
    await page.getByRole('status').getByText('Completed').waitFor();
    const detail = (name: string) => page.locator('.facts div', { hasText: name });
    await detail('Repeats').getByRole('link').click();
    await detail('Run again').getByText('Completed').waitFor();
    await detail('Run again').getByRole('link').click();
    await detail('Repeats').waitFor();
    await page.getByText('Timeline', { exact: true }).click();
    await page.getByRole('row', { name: /Record the order.*reused/ }).waitFor();
    await page.getByRole('button', { name: 'Record the order' }).click();
    await page.getByText('The result was taken over').waitFor();
  });

  test('many runs are cancelled, and repeated, after the page has said how many', async () => {
    const { cluster, tenant, page, go, path } = stage();
    const waits = graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 60 } }, ['start>wait']);
    const { id } = await aWorkflow(cluster, { tenant, ...waits });
    const { as } = cluster;
    await go(path(`/runs?workflowID=${id}`));
    await page.getByText('No run matches the filter.').waitFor();
    for (let n = 0; n < 3; n += 1)
      await as(tenant.creator).post(`/api/v1/tenants/${tenant.id}/workflows/${id}/execute`, {});

    // Told in the room of the tenant: the list itself is read again after half a minute.
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'Waiting' }).count()).toBe(3);
    await page.getByRole('button', { name: 'Cancel or re-run all' }).click();
    await page.getByRole('menuitem', { name: 'Cancel' }).click();
    await page.getByText('3 runs that have not ended will be cancelled').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel 3 runs' }).click();
    await page.getByText('Done: 3 of 3 runs were cancelled.').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'Cancelled' }).count()).toBe(3);

    await go(path(`/runs?workflowID=${id}&status=CANCELLED`));
    await page.getByRole('button', { name: 'Cancel or re-run all' }).click();
    await page.getByRole('menuitem', { name: 'Re-run' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Re-run 3 runs' }).click();
    await page.getByRole('link', { name: 'Show the new runs' }).click();
    await expect
      .poll(() =>
        page
          .getByRole('row')
          .filter({ hasText: /Pending|Running|Waiting/ })
          .count(),
      )
      .toBe(3);
    await page.getByRole('link').filter({ hasText: 'A workflow' }).first().click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('status').getByText('Cancelled').waitFor();
  });

  test('runs that have failed or ended are repeated, and the page says the words of the server', async () => {
    const { cluster, tenant, page, go, path } = stage();
    const words = 'use `ctx.input` before 2026-01-02T03:04:05Z';
    const code = `if (ctx.input.fails) throw new Error(${JSON.stringify(words)});`;
    const again = { errorHandling: 'retry_then_fail', retryLimit: 1, retryDelaySeconds: 0 };
    const nodes = graph({ start: { type: 'start' }, work: { type: 'javascript', code, ...again } }, ['start>work']);
    const { id } = await aWorkflow(cluster, { tenant, ...nodes });
    const client = cluster.as(tenant.creator).in(tenant);
    await client.post('T/workflows/test', { workflowID: id });
    await client.post(`T/workflows/${id}/execute?wait=10`, {});
    const { body } = await client.post(`T/workflows/${id}/execute?wait=10`, { args: { fails: true } });
    const dialog = page.getByRole('dialog');
    const repeat = async (status: string) => {
      await go(path(`/runs?workflowID=${id}&status=${status}`));
      await page.getByRole('button', { name: 'Cancel or re-run all' }).click();
      await page.getByRole('menuitem', { name: 'Re-run' }).click();
      await dialog.getByText(/^1 run with the status .* again, as a new run\.$/).waitFor();
    };
    await repeat('FAILED');
    await dialog.getByRole('radio', { name: /^Where each failed/, checked: true }).waitFor();
    await repeat('COMPLETED');
    expect(await dialog.getByRole('radio', { name: /^Where each failed/ }).count()).toBe(0);
    await dialog.getByRole('button', { name: 'Re-run 1 run' }).click();
    await dialog.getByText('Done: 1 of 1 run was accepted again.').waitFor();

    // Where the panel is below the graph, both say it.
    await page.setViewportSize({ width: 1280, height: 800 });
    await go(path(`/runs/${body.instanceID}`));
    const said = page.locator('.notice', { hasText: 'before' });
    expect(await said.locator('code').textContent()).toBe('ctx.input');
    const moment = said.locator('time[title="2026-01-02T03:04:05Z"]');
    expect(await moment.textContent()).toMatch(/Jan 2, 2026|2 Jan 2026/);
    await page.getByText('you', { exact: true }).waitFor();
    await page.locator('[aria-label^="work, "]').press('Enter');
    await page.getByRole('tab', { name: 'Error', selected: true }).waitFor();
    const boxes = await Promise.all((await page.getByRole('tab').all()).map((tab) => tab.boundingBox()));
    expect(boxes).toHaveLength(6);
    expect(new Set(boxes.map((box) => box?.y)).size).toBe(1);
    await page
      .getByRole('tabpanel', { name: 'Error' })
      .getByText(/\(line 1\)/)
      .waitFor();
    await page.getByRole('tab', { name: 'Attempts' }).click();
    const attempts = page.getByRole('table', { name: 'Attempts and waits of the step' }).getByRole('row');
    expect((await attempts.allInnerTexts()).map((text) => /^\d\s+Failed/.test(text))).toEqual([false, true, true]);

    const job = { cronJobTitle: 'Halted', cronJobType: 'workflow', cronJobSchedule: '0 3 * * *', workflowID: id };
    const { cronJob } = (await client.post('T/cronjobs', job)).body;
    const stop = 'update cron_job set stopped_at = now(), stop_reason = $2 where id = $1';
    await cluster.pool.query(stop, [cronJob.cronJobID, 'its owner has left']);
    await go(path());
    const failed = page.getByRole('region', { name: 'Failed in the last 24 hours' });
    await failed.getByRole('link', { name: 'A workflow' }).first().waitFor();
    const stopped = page.getByRole('region', { name: 'Stopped cron jobs' });
    await stopped.getByText('its owner has left').waitFor();
    await stopped.getByRole('link', { name: 'Halted' }).waitFor();
    await client.delete(`T/cronjobs/${cronJob.cronJobID}`);
    await page.getByText(/^\d+ runs in the last 24 hours, by hour$/).click();
    const byHour = page.getByRole('table', { name: 'Runs', exact: true }).getByRole('row');
    expect(Number((await byHour.nth(1).getByRole('cell').nth(3).textContent()) ?? 0)).toBeGreaterThan(0);
    await page.getByText('14 days', { exact: true }).click();
    await page.getByText(/^\d+ runs in the last 14 days, by day$/).waitFor();
    await page.getByRole('region', { name: 'Failed most' }).getByRole('link').first().click();
    await page.getByRole('table', { name: 'Runs, newest first' }).getByText('Failed').first().waitFor();
  });

  test('twenty runs are seen at once, and the rarer filters on request', async () => {
    const { cluster, tenant, page, go, path } = stage();
    await page.setViewportSize({ width: 1280, height: 800 });
    const { id } = await aWorkflow(cluster, {
      tenant,
      ...graph({ start: { type: 'start' }, end: { type: 'end' } }, ['start>end']),
    });
    await cluster.as(tenant.creator).in(tenant).post(`T/workflows/${id}/execute`, {});
    await go(path('/runs'));
    const row = page.getByRole('table', { name: 'Runs, newest first' }).getByRole('row').nth(1);
    await row.waitFor();
    const { y, height } = (await row.boundingBox()) ?? { y: 0, height: 1_000 };
    expect(Math.floor((800 - y) / height)).toBeGreaterThanOrEqual(20);
    await page.getByRole('button', { name: 'More filters' }).click();
    const tag = page.getByRole('textbox', { name: 'Tag' });
    await tag.fill('none has it');
    await tag.press('Enter');
    await page.getByText('No run matches the filter.').waitFor();
  });

  test('a run is started with tags, a class, a head start and for a later time, waits until then, and is found by a tag', async () => {
    const { cluster, tenant, page, go, path } = stage();
    await page.setViewportSize({ width: 1280, height: 800 });
    const ends = graph({ start: { type: 'start' }, end: { type: 'end' } }, ['start>end']);
    const title = `Begins later ${Date.now()}`;
    await aWorkflow(cluster, { tenant, title, ...ends });
    await go(path('/runs'));
    await page.getByRole('button', { name: 'Start a run' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'Workflow' }).fill(title);
    await page.getByRole('option', { name: title }).click();
    await dialog.getByText('More: tags, when it begins, which runs go first').click();
    const tags = dialog.getByLabel('Tags', { exact: true });
    await tags.fill('x'.repeat(65));
    await tags.press('Enter');
    // The text that was typed last counts, also without Enter.
    await tags.fill('north');
    await dialog.getByLabel('Begins at').fill(inADay());
    await dialog.getByRole('combobox', { name: 'Class' }).click();
    await page.getByRole('option', { name: /^Batch: / }).click();
    await dialog.getByLabel('Head start', { exact: true }).fill('2');
    await dialog.getByLabel('Unit of Head start').selectOption('hours');
    await dialog.getByRole('button', { name: 'Start' }).click();
    await dialog.getByText(/of 1 to 64 characters/).waitFor();
    await dialog.getByText(/3600/).waitFor();
    forgetRefusals(stage(), 400);
    await dialog.getByLabel('Unit of Head start').selectOption('minutes');
    await tags.press('Backspace');
    await tags.press('Backspace');
    await dialog.getByText(/of 1 to 64 characters/).waitFor({ state: 'detached' });
    await tags.pressSequentially('north,urgent');
    await expectAccessible(page, { name: 'run-tags', shows: 'Head start', schemes: ['light'] });
    const sent = page.waitForRequest((request) => request.url().endsWith('/execute'));
    await dialog.getByRole('button', { name: 'Start' }).click();
    expect((await sent).postDataJSON()).toMatchObject({ class: 'batch', priority: 120 });
    await page.getByText('north, urgent').waitFor();
    await page.getByText(/Until .*/).waitFor();
    await go(path('/runs?tag=urgent'));
    await page.getByRole('row').filter({ hasText: title }).getByText('· north').waitFor();
  });

  const pages = [
    { name: 'tenants', path: () => '/console/', shows: 'New tenant' },
    { name: 'home', path: () => stage().path(), shows: 'Failed most' },
    { name: 'runs', path: () => stage().path('/runs'), shows: 'Order approval' },
    { name: 'run-graph', path: () => `${runPath}?view=graph`, shows: 'Approve at once' },
    { name: 'run-step', path: () => `${runPath}?view=timeline&step=record&tab=input`, shows: 'could name' },
    { name: 'inbox', path: () => stage().path('/inbox'), shows: 'No question waits' },
  ];

  test.each(pages)('$name: no finding by axe, and no sideways scroll', async ({ name, path, shows }) => {
    const { page, go } = stage();
    await go(path());
    await expectAccessible(page, { name, shows });
  });

  test('a graph begins with its first step in the middle when the window becomes narrow', async () => {
    const { page, go } = stage();
    await page.setViewportSize({ width: 1280, height: 800 });
    await go(`${runPath}?view=graph`);
    const graph = page.getByRole('region', { name: 'Graph of the run' });
    await graph.getByText('Approve at once').waitFor();
    await page.setViewportSize({ width: 320, height: 800 });
    // A step further down stands more to the left.
    const first = graph.locator('.react-flow__node').filter({ hasText: 'Start' });
    const offCentre = async () => {
      const [card, around] = await Promise.all([first.boundingBox(), graph.boundingBox()]);
      return card && around && Math.abs(2 * card.x + card.width - 2 * around.x - around.width);
    };
    await expect.poll(offCentre).toBeLessThan(10);
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test('a chart takes the colours of the scheme that is chosen while it is shown', async () => {
    const { page, go, path } = stage();
    await go(path());
    await expect.poll(() => drawnIn(page, '--wait')).toBe(true);
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await expect.poll(() => drawnIn(page, '--wait')).toBe(true);
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  });
}

/** Whether a chart has a pixel in a colour of the styles. */
function drawnIn(page: Page, name: string): Promise<boolean> {
  return page.evaluate(`(() => {
    const canvas = document.querySelector('.chart canvas');
    const colour = getComputedStyle(document.documentElement).getPropertyValue('${name}').trim();
    const wanted = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
    const { data } = canvas?.getContext('2d').getImageData(0, 0, canvas.width, canvas.height) ?? { data: [] };
    for (let at = 0; at < data.length; at += 4)
      if (wanted.every((part, index) => data[at + index] === part)) return true;
    return false;
  })()`);
}

/** The time of a day from now, as a field of a browser has it. */
function inADay(): string {
  const at = new Date(Date.now() + 86_400_000);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
