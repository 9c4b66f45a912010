import { expect, test } from 'vitest';
import { aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { expectAccessible, type Stage } from './stage.ts';

/** Signing in, the list of runs, a run, and the inbox. */
export function runTests(stage: () => Stage): void {
  let runPath: string;

  test('signs in, starts the order sample, watches it, answers its questions and shows its result', async () => {
    const { cluster, tenant, page, open } = stage();
    await page.goto(`${cluster.baseURL}/console/sign-in?next=/t/${tenant.id}/runs`);
    await page.getByLabel('E-mail address').fill(tenant.creator.email);
    await page.keyboard.press('Enter');

    await page.getByRole('button', { name: 'Start a run' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Closes a dialog').waitFor();
    await expectAccessible(page, { name: 'keys', shows: 'Closes a dialog' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command' }).fill('open order');
    await page.getByRole('option', { name: 'Open the workflow Order approval', selected: true }).waitFor();
    await expectAccessible(page, { name: 'palette', shows: 'Open the workflow' });
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Order approval' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command' }).fill('go runs');
    await page.getByRole('option', { name: 'Go to Runs', selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Start a run' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Workflow').first().fill('Order');
    await page.getByRole('option', { name: 'Order approval' }).click();
    await dialog.getByLabel('orderID').fill('A-1');
    await dialog.getByLabel('customer').fill('<img src=x onerror=alert(1)>');
    await dialog.getByLabel('total').fill('900');
    await dialog.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('link', { name: 'Answer the question' }).waitFor();
    runPath = new URL(page.url()).pathname;
    await page.getByRole('link', { name: 'Answer the question' }).click();

    await page.getByRole('button', { name: 'Accept' }).click();
    await page.getByText('The question is answered.').waitFor();
    await page.goto(cluster.baseURL + runPath);
    await page.getByRole('link', { name: 'Answer the question' }).click();
    await page.getByRole('heading', { name: 'Delivery of order A-1' }).waitFor();
    // From here on without a reload: what follows is told by the socket.
    const watching = await open(tenant.creator);
    await watching.goto(cluster.baseURL + runPath);
    await watching.getByRole('status').getByText('Waiting').waitFor();
    await page.getByRole('combobox', { name: 'Carrier' }).click();
    await page.getByRole('option', { name: 'express' }).click();
    await page.getByRole('button', { name: 'Send' }).click();

    await watching.getByRole('status').getByText('Completed').waitFor();
    await watching.getByLabel('Output of the run').getByText('"express"').waitFor();
    await watching.getByText('Timeline', { exact: true }).click();
    for (const step of ['Record the order', 'Store the decision', 'End'])
      await watching.getByRole('row', { name: new RegExp(`${step} Success`) }).waitFor();
    expect(await watching.getByRole('row').filter({ hasText: 'Success' }).count()).toBe(8);
    await watching.close();
  }, 40_000);

  test('a run is found by the filters in the address, and repeated from a step', async () => {
    const { cluster, page, path } = stage();
    await page.goto(cluster.baseURL + path('/runs?status=FAILED'));
    await page.getByText('No run matches the filter.').waitFor();
    await page.goto(cluster.baseURL + path('/runs?status=COMPLETED'));
    await page.getByRole('link', { name: 'Order approval' }).first().click();
    await page.getByRole('button', { name: 'Re-run' }).click();
    await page.getByRole('radio', { name: /^A step/ }).click();
    await page.getByRole('combobox', { name: /^Step/ }).click();
    await page.getByRole('option', { name: 'decide' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Re-run' }).click();

    await page.getByText('Repeats').waitFor();
    expect(page.url()).not.toContain(runPath);
    await page.getByRole('status').getByText('Completed').waitFor();
    await page.getByText('Timeline', { exact: true }).click();
    await page.getByRole('row', { name: /Record the order.*reused/ }).waitFor();
    await page.getByRole('button', { name: 'Record the order' }).click();
    await page.getByText('The result was taken over').waitFor();
  }, 30_000);

  test('many runs are cancelled, and repeated, after the page has said how many', async () => {
    const { cluster, tenant, page, path } = stage();
    const waits = graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 60 } }, ['start>wait']);
    const { id } = await aWorkflow(cluster, { tenant, ...waits });
    const { as } = cluster;
    for (let n = 0; n < 3; n += 1)
      await as(tenant.creator).post(`/api/v1/tenants/${tenant.id}/workflows/${id}/execute`, {});

    await page.goto(cluster.baseURL + path(`/runs?workflowID=${id}`));
    await page.getByRole('button', { name: 'All of these' }).click();
    await page.getByRole('menuitem', { name: 'Cancel' }).click();
    await page.getByText('3 runs that have not ended will be cancelled').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel 3 runs' }).click();
    await page.getByText('Done: 3 of 3 runs were cancelled.').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'Cancelled' }).count()).toBe(3);

    await page.goto(cluster.baseURL + path(`/runs?workflowID=${id}&status=CANCELLED`));
    await page.getByRole('button', { name: 'All of these' }).click();
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
  }, 30_000);

  const pages = [
    { name: 'tenants', path: () => '/console/', shows: 'New tenant' },
    { name: 'home', path: () => stage().path(), shows: 'Running now' },
    { name: 'runs', path: () => stage().path('/runs'), shows: 'Order approval' },
    { name: 'run-graph', path: () => `${runPath}?view=graph`, shows: 'Approved at once' },
    { name: 'run-step', path: () => `${runPath}?view=timeline&step=record`, shows: 'left by' },
    { name: 'inbox', path: () => stage().path('/inbox'), shows: 'No question waits' },
  ];

  test.each(pages)(
    '$name: no finding by axe, and no sideways scroll',
    async ({ name, path, shows }) => {
      const { cluster, page } = stage();
      await page.goto(cluster.baseURL + path());
      await expectAccessible(page, { name, shows });
    },
    20_000,
  );
}
