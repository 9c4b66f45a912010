import { expect, test } from 'vitest';
import { aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { choose, tabTo } from './keys.ts';
import { expectAccessible, forgetRefusals, HOSTILE, type Stage } from './stage.ts';

const control = (scope: string, more: object = {}) => ({ type: 'Control', scope: `#/properties/${scope}`, ...more });

const formSchema = {
  type: 'object',
  required: ['size', 'carrier'],
  properties: {
    size: { type: 'integer', title: 'Size', description: HOSTILE },
    why: { type: 'string', title: 'Why so large' },
    carrier: { enum: ['post', 7], title: 'Carrier' },
    to: { type: 'object', title: 'Address', properties: { street: { type: 'string', title: 'Street' } } },
    lines: {
      type: 'array',
      title: 'Lines',
      items: { type: 'object', properties: { sku: { type: 'string', title: 'Article' } } },
    },
  },
};

const formUischema = {
  type: 'VerticalLayout',
  elements: [
    { type: 'Label', text: HOSTILE },
    control('size'),
    control('why', {
      rule: {
        effect: 'SHOW',
        condition: { scope: '#/properties/size', schema: { minimum: 10 }, failWhenUndefined: true },
      },
    }),
    { type: 'Group', label: 'Delivery', elements: [control('carrier', { label: false }), control('to')] },
    { type: 'Group', elements: [control('lines', { label: 'Articles' })] },
  ],
};

/** Questions whose forms tenants have described. */
export function questionTests(stage: () => Stage): void {
  test('a question is drawn by its own layout and answered by keyboard; a layout or a schema that is broken is told', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const { keyboard } = page;
    const asked = { type: 'dataCollection', formSchema };
    const { id } = await aWorkflow(cluster, {
      ...{ tenant, title: 'Parcel' },
      ...graph(
        {
          start: { type: 'start' },
          good: { ...asked, title: 'Own layout', description: 'For {{ctx.input.who}}', formUischema },
          flawed: { ...asked, title: 'Flawed layout', formUischema: { type: 'Group', elements: [control('none')] } },
          round: { ...asked, title: 'Round schema', formSchema: { properties: { a: { $ref: '#' } } } },
        },
        ['start>good', 'good:output>flawed', 'flawed:output>round'],
      ),
    });
    const client = cluster.as(tenant.creator).in(tenant);
    const { instanceID } = (await client.post(`T/workflows/${id}/execute`, { args: { who: 'Ada' } })).body;
    await go(path('/inbox'));
    await page.getByRole('row', { name: /^Own layout Parcel · For Ada Form/ }).waitFor();
    const open = async (nodeID: string) => {
      const list = `T/workflows/data-collection?instanceID=${instanceID}`;
      const found = async () =>
        (await client.get(list)).body.requests.find((one: { nodeID: string }) => one.nodeID === nodeID);
      await expect.poll(found).toBeTruthy();
      await go(path(`/inbox/${(await found()).collectionRequestID}`));
      return async () => (await found()).submittedData;
    };
    const fill = async (name: string, text: string) => {
      await tabTo(page, page.getByRole('textbox', { name }));
      await keyboard.press('Control+a');
      await keyboard.type(text);
    };
    const press = async (name: string) => {
      await tabTo(page, page.getByRole('button', { name }));
      await keyboard.press('Enter');
    };

    const answer = await open('good');
    await page.getByRole('group', { name: 'Delivery' }).getByRole('group', { name: 'Address' }).waitFor();
    expect(await page.getByLabel('Why so large').count()).toBe(0);
    await fill('Size', '12');
    await page.getByLabel('Why so large').waitFor();
    await press('Send');
    const carrier = page.getByRole('combobox', { name: 'Carrier' });
    await expect.poll(() => carrier.getAttribute('aria-invalid')).toBe('true');
    expect(await page.locator(`#${await carrier.getAttribute('aria-describedby')}`).textContent()).toContain('post');
    // The field says so, and nothing names the place in the request.
    expect(await page.getByRole('alert').count()).toBe(0);
    forgetRefusals(stage(), 400);
    await expectAccessible(page, { name: 'question', shows: 'Why so large' });
    await page.getByRole('heading', { name: 'Own layout' }).click();
    await fill('Why so large', 'a bed');
    await tabTo(page, carrier);
    await keyboard.press('Enter');
    await choose(page, '7');
    await expect.poll(() => carrier.getAttribute('aria-invalid')).not.toBe('true');
    await fill('Street', 'Elm');
    await press('Add to Articles');
    await fill('Article', 'B-1');
    await press('Send');
    await page.getByText('The question is answered.').waitFor();
    expect(await answer()).toEqual({
      ...{ size: 12, why: 'a bed', carrier: 7, to: { street: 'Elm' }, lines: [{ sku: 'B-1' }] },
    });

    await open('flawed');
    await page.getByText('leads to no field').waitFor();
    await fill('Size', '1');
    await tabTo(page, carrier);
    await keyboard.press('Enter');
    await choose(page, 'post');
    await press('Send');
    await page.getByText('The question is answered.').waitFor();
    const answered = await open('round');
    await page.getByText('lead in circles').waitFor();
    await fill('Answer', '{"a": ');
    await press('Send');
    await page.getByRole('alert').getByText('submittedData').waitFor();
    forgetRefusals(stage(), 400);
    await page.getByRole('heading', { name: 'Round schema' }).click();
    await fill('Answer', '{"a": {}}');
    await press('Send');
    await page.getByText('The question is answered.').waitFor();
    expect(await answered()).toEqual({ a: {} });
  });
}
