/** Templates as the console shows them before they are installed. */
import { describe, expect, test } from 'vitest';
import { tablesIn, titlesIn } from '#ops/console/client/template.ts';
import { HEIGHT, pagePicture, WIDTH } from '#ops/console/templates/page-boxes.ts';
import { smallGraphOf, TILE } from '#ops/console/templates/small-graph.ts';
import { graphOf, marksOf, pageIn, shownTitle } from '#ops/console/templates/words.ts';
import { readSample, sampleNames } from '#ops/samples/read.ts';
import { kinds } from './drafts.ts';

const names = await sampleNames();

describe.each(names)('the small picture of %s', (name) => {
  test('has a square for each step, within it and apart from the others, and boxes around what is repeated', async () => {
    const graph = graphOf(await readSample(name));
    const { tiles, lines, boxes, width, height } = smallGraphOf(graph, kinds);

    expect(tiles.map(({ id }) => id)).toEqual(graph.nodes.map(({ id }) => id));
    expect(lines).toHaveLength(graph.edges.length);
    expect(lines.filter(({ path }) => /NaN|undefined/.test(path))).toEqual([]);
    for (const { x, y } of tiles) {
      expect([x >= 0, y >= 0, x + TILE <= width, y + TILE <= height]).toEqual([true, true, true, true]);
      const near = tiles.filter((other) => Math.abs(other.x - x) < TILE && Math.abs(other.y - y) < TILE);
      expect(near).toHaveLength(1);
    }
    const repeats = graph.nodes.filter(({ type }) => kinds[type]?.bodyExit != null).map(({ id }) => id);
    expect(boxes.map(({ id }) => id)).toEqual(repeats);
  });
});

const ofPages = (await Promise.all(names.map(readSample))).filter(({ page }) => page !== undefined);

test.each(ofPages.map((one) => [one.name, one] as const))(
  'the picture of the page of %s has each widget within it, apart from the others',
  (_name, template) => {
    const page = pageIn(template);
    const boxes = pagePicture(page?.config ?? {}, page?.types ?? new Map());

    expect(boxes.map(({ key }) => key).sort()).toEqual([...(page?.types.keys() ?? [])].sort());
    for (const one of boxes) {
      expect(one.x >= 0 && one.y >= 0 && one.x + one.width <= WIDTH && one.y + one.height <= HEIGHT, one.key).toBe(
        true,
      );
      const over = boxes.filter(
        (other) =>
          other !== one &&
          other.x < one.x + one.width &&
          one.x < other.x + other.width &&
          other.y < one.y + one.height &&
          one.y < other.y + other.height,
      );
      expect(over, one.key).toEqual([]);
    }
  },
);

test('a template says what it brings and needs, with its tables', async () => {
  const [sync, webhook] = [await readSample('database-sync'), await readSample('webhook-enrichment')];

  expect(marksOf(sync)).toEqual(['Cron job', 'Needs another database']);
  expect(marksOf(webhook)).toEqual(['Webhook']);
  expect(tablesIn(sync)).toEqual(['sample_contacts', 'sample_contacts_sync']);
  expect(titlesIn(webhook)).toContainEqual({ type: 'listener', title: 'Orders of the shop' });
  expect(titlesIn(webhook)).toContainEqual({ type: 'variable', title: 'ratesURL' });
});

test('a title of a step names the values that only a run has', () => {
  expect(shownTitle('Approve order {{ctx.input.orderID}} over {{ ctx.total }}?')).toBe(
    'Approve order ‹orderID› over ‹total›?',
  );
});
