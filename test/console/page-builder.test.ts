/** The edits of the builder of pages, without a browser. */
import { describe, expect, test } from 'vitest';
import { offersFor, offersOf } from '#ops/console/builder/add/widget-words.ts';
import { type Box, dropAt } from '#ops/console/builder/canvas/drop.ts';
import { copiedParts, partsIn, withCopies } from '#ops/console/builder/clipboard.ts';
import {
  changesOf,
  type PageDocument,
  type StoredPage,
  type WidgetDraft,
  withRead,
} from '#ops/console/builder/document.ts';
import {
  addWidget,
  newWidget,
  removePart,
  removeWidget,
  setWidget,
  setWidgetConfig,
} from '#ops/console/builder/edits.ts';
import { changeCell, setCell } from '#ops/console/builder/grid-edits.ts';
import { layoutIn } from '#ops/console/builder/layout-edits.ts';
import { moveBeside, moveTo, nodeIDOf, stepOf, unwrap, wrap } from '#ops/console/builder/parts.ts';
import { mergeDocuments } from '#ops/console/builder/save/merge.ts';
import { storedDocument } from '#ops/console/builder/save/stored-document.ts';
import { restored } from '#ops/console/builder/save/unsaved.ts';
import { beginHistory, historyReducer } from '#ops/console/editor/undo.ts';

type Row = Readonly<Record<string, unknown>>;

const key = (name: string) => `widget_00000000-0000-4000-8000-000000000000_${name}`;
const node = (name: string, more: Row = {}) => ({ id: name, type: 'widget', widgetKey: key(name), ...more });

function aWidget(name: string, more: Partial<WidgetDraft> = {}): WidgetDraft {
  return { key: key(name), id: name, title: name, type: 'text', config: {}, refreshInterval: 0, ...more };
}

function aPage(children: readonly unknown[], names: readonly string[], more: Row = {}): PageDocument {
  const widgets = Object.fromEntries(names.map((name) => [key(name), aWidget(name)]));
  const layout = { id: 'root', type: 'column', children };
  return { kind: 'app-page', id: 'p', title: 'A page', config: { layout, widgets: names.map(key), ...more }, widgets };
}

function stored(document: PageDocument, versionNumber = 1): StoredPage {
  const widgets = Object.values(document.widgets).map((widget) => ({ ...widget, id: widget.id ?? '' }));
  const empty = { ...{ document, versionNumber, updatedAt: '', isDraft: false }, widgetVersions: {}, known: {} };
  return widgets.reduce<StoredPage>((now, widget) => withRead(now, widget, 1), empty);
}

/** Ids of parts, by the parts that hold them. */
function shapeOf({ config }: PageDocument, at: Row = layoutIn(config)): unknown {
  const children = Array.isArray(at.children) ? (at.children as Row[]) : [];
  if (at.type === 'widget' && children.length === 0) return at.id;
  return { [String(at.type)]: children.map((child) => shapeOf({ config } as PageDocument, child)) };
}

describe('the layout of a page', () => {
  test('a page without a layout gets one by its first change, with its widgets below one another', () => {
    const page = { ...aPage([], ['a', 'b']), config: { widgets: [key('a'), key('b')], later: 1 } };
    const next = addWidget(newWidget(page, { title: 'New', type: 'text-input', config: {} }))(page);

    expect(next.config).toMatchObject({ layoutVersion: 2, later: 1 });
    expect(layoutIn(next.config).children).toMatchObject([{ widgetKey: key('a') }, { widgetKey: key('b') }, {}]);
    expect(next.config.widgets).toHaveLength(3);
    expect(String((next.config.widgets as string[])[2])).toMatch(/_text_input1$/);
  });

  test('a full row in which something is put shares its width anew; another row keeps its widths', () => {
    const row = (spans: number[]) => ({
      id: 'row',
      type: 'row',
      children: spans.map((span, at) => node(`${at}`, { span })),
    });
    const spansAfter = (spans: number[]) => {
      const page = aPage([row(spans)], ['0', '1']);
      const next = addWidget(aWidget('new'), { parentID: 'row', index: 1 })(page);
      const [changed] = layoutIn(next.config).children as { children: { span?: number }[] }[];
      return changed?.children.map(({ span }) => span);
    };

    expect(spansAfter([6, 6])).toEqual([undefined, undefined, undefined]);
    expect(spansAfter([6, 3])).toEqual([6, undefined, 3]);
  });

  test('a part goes by steps before, after, into and out of others, and never into itself', () => {
    const page = aPage(
      [node('a', { span: 4 }), { id: 'box', type: 'container', children: [node('b')] }, node('c')],
      ['a', 'b', 'c'],
    );
    const step = (id: string, move: Parameters<typeof stepOf>[2]) => {
      const position = stepOf(page, id, move);
      return position && shapeOf(moveTo(id, position)(page));
    };

    expect(step('a', 'before')).toBeUndefined();
    expect(step('a', 'after')).toEqual({ column: [{ container: ['b'] }, 'a', 'c'] });
    expect(step('a', 'into')).toEqual({ column: [{ container: ['a', 'b'] }, 'c'] });
    expect(step('c', 'into')).toEqual({ column: ['a', { container: ['b', 'c'] }] });
    expect(step('b', 'out')).toEqual({ column: ['a', { container: [] }, 'b', 'c'] });
    expect(moveTo('box', { parentID: 'box', index: 0 })(page)).toBe(page);
    // Its width was one of the row that it has left.
    const [box] = layoutIn(moveTo('a', { parentID: 'box', index: 0 })(page).config).children as [{ children: Row[] }];
    expect(box.children[0]).not.toHaveProperty('span');
  });

  test('parts are put into a new one and taken out of it, and one beside another makes a row', () => {
    const page = aPage([node('a'), node('b'), node('c')], ['a', 'b', 'c']);
    const [wrapped, id] = wrap(page, ['a', 'b'], 'row');

    expect(shapeOf(wrapped)).toEqual({ column: [{ row: ['a', 'b'] }, 'c'] });
    expect(shapeOf(unwrap(id)(wrapped))).toEqual({ column: ['a', 'b', 'c'] });
    const beside = { otherID: 'a', type: 'row', isBefore: true } as const;
    expect(shapeOf(moveBeside('c', beside)(page))).toEqual({ column: [{ row: ['c', 'a'] }, 'b'] });
  });

  test('with a part go the widgets in it, and fields that are not known stay', () => {
    const page = aPage(
      [{ id: 'box', type: 'carousel', later: 1, children: [node('a'), node('b')] }, node('c', { later: 2 })],
      ['a', 'b', 'c'],
    );
    const next = removePart('box')(page);

    expect([Object.keys(next.widgets), next.config.widgets]).toEqual([[key('c')], [key('c')]]);
    expect(layoutIn(next.config).children).toEqual([node('c', { later: 2 })]);
  });
});

describe('where a drop goes', () => {
  const page = aPage(
    [node('a'), { id: 'row', type: 'row', children: [node('b'), node('c')] }, node('d')],
    ['a', 'b', 'c', 'd'],
  );
  const boxes: Record<string, Box> = {
    root: { left: 0, top: 0, width: 400, height: 300 },
    a: { left: 0, top: 0, width: 400, height: 100 },
    row: { left: 0, top: 100, width: 400, height: 100 },
    b: { left: 0, top: 100, width: 200, height: 100 },
    c: { left: 200, top: 100, width: 200, height: 100 },
    d: { left: 0, top: 200, width: 400, height: 100 },
  };
  const drop = (targetID: string, x: number, y: number, draggedID = 'd') => {
    const { line: _line, ...found } = dropAt(page, { targetID, draggedID }, { x, y }, (id) => boxes[id]) ?? {};
    return found;
  };

  test('before and behind the middle of a widget, and beside it at its sides', () => {
    expect(drop('a', 200, 20)).toEqual({ position: { parentID: 'root', index: 0 } });
    expect(drop('a', 200, 80)).toEqual({ position: { parentID: 'root', index: 1 } });
    expect(drop('a', 395, 50)).toEqual({ beside: { otherID: 'a', type: 'row', isBefore: false } });
    expect(drop('b', 60, 150)).toEqual({ position: { parentID: 'row', index: 0 } });
    expect(drop('b', 100, 105)).toEqual({ beside: { otherID: 'b', type: 'column', isBefore: true } });
  });

  test('into a part that holds others, beside that part at its edge, and nowhere in what is dragged', () => {
    expect(drop('row', 250, 150)).toEqual({ position: { parentID: 'row', index: 1 } });
    expect(drop('row', 200, 103)).toEqual({ position: { parentID: 'root', index: 1 } });
    expect(drop('root', 200, 299)).toEqual({ position: { parentID: 'root', index: 3 } });
    expect(drop('b', 100, 150, 'row')).toEqual({});
  });
});

describe('copies', () => {
  test('have keys and names of their own, by which they read one another', () => {
    const page = aPage([{ id: 'row', type: 'row', later: 1, children: [node('t1'), node('t2')] }], ['t1', 't2']);
    const reading = setWidgetConfig(key('t2'), { properties: { content: '{{widgets.t1.value}} {{variables.t1}}' } })(
      page,
    );
    const copied = partsIn(JSON.stringify(copiedParts(reading, ['row'])));
    if ('refused' in copied) throw new Error(copied.refused);
    const [next] = withCopies(reading, copied);
    const [first = '', second = ''] = (next.config.widgets as string[]).slice(2);

    expect(next.config.widgets).toHaveLength(4);
    expect([first, second].map((one) => next.widgets[one]?.id)).toEqual([undefined, undefined]);
    expect(next.widgets[second]?.config).toEqual({
      properties: { content: `{{widgets.${first.split('_').at(-1)}.value}} {{variables.t1}}` },
    });
    expect((layoutIn(next.config).children as Row[])[1]).toMatchObject({ type: 'row', later: 1 });
  });

  test('a text of something else is refused', () => {
    expect(partsIn('hello')).toHaveProperty('refused');
    expect(partsIn('{"parts": [], "widgets": []}')).toHaveProperty('refused');
  });
});

describe('saving', () => {
  test('all that is sent has the keys of widgets that were saved meanwhile, also where actions name them', () => {
    const provisional = 'widget_11111111-1111-4111-8111-111111111111_form1';
    const page = aPage([node('a'), { id: 'x', type: 'widget', widgetKey: provisional }], ['a']);
    const events = { onClick: [{ type: 'CALL_WIDGET_METHOD', widgetKey: provisional }] };
    const next = storedDocument(
      {
        ...page,
        config: { ...page.config, widgets: [key('a'), provisional] },
        widgets: {
          [key('a')]: aWidget('a', { config: { events } }),
          [provisional]: { ...aWidget('b'), key: provisional },
        },
      },
      { [provisional]: '22222222-2222-4222-8222-222222222222' },
    );
    const stored = 'widget_22222222-2222-4222-8222-222222222222_form1';

    expect(JSON.stringify(next)).not.toContain(provisional);
    expect(next.config.widgets).toEqual([key('a'), stored]);
    expect(next.widgets[stored]).toMatchObject({ key: stored, id: '22222222-2222-4222-8222-222222222222' });
    expect(nodeIDOf(next, stored)).toBe('x');
  });

  test('two changes of a page are joined by their fields, and what both have changed is told', () => {
    const base = aPage([node('a')], ['a', 'b'], { variables: [{ key: 'x', defaultValue: 1 }, { key: 'y' }], later: 1 });
    const own = {
      ...setWidgetConfig(key('a'), { properties: { label: 'mine' } })(base),
      config: { ...base.config, variables: [{ key: 'x', defaultValue: 2 }, { key: 'y' }] },
    };
    const added = addWidget(aWidget('c'))(base);
    const other = {
      ...added,
      title: 'Theirs',
      config: {
        ...added.config,
        variables: [
          { key: 'x', defaultValue: 3 },
          { key: 'y', type: 'number' },
        ],
      },
      widgets: { ...added.widgets, [key('a')]: aWidget('a', { title: 'Theirs too' }) },
    };
    const { document, clashes } = mergeDocuments(base, own, other);

    expect(document.title).toBe('Theirs');
    expect(document.widgets[key('a')]).toMatchObject({
      title: 'Theirs too',
      config: { properties: { label: 'mine' } },
    });
    expect(document.config).toMatchObject({
      later: 1,
      widgets: [key('a'), key('b'), key('c')],
      variables: [
        { key: 'x', defaultValue: 2 },
        { key: 'y', type: 'number' },
      ],
    });
    expect(clashes).toEqual([{ widget: undefined, path: ['config', 'variables', 'x', 'defaultValue'] }]);
  });

  test('where both have moved parts the own layout stays, with the widgets that the other person has added', () => {
    const base = aPage([node('a'), node('b')], ['a', 'b']);
    const own = moveTo('a', { parentID: 'root', index: 2 })(base);
    const other = addWidget(aWidget('c'), { parentID: 'root', index: 0 })(base);
    const { document, clashes } = mergeDocuments(base, own, other);

    expect(layoutIn(document.config).children).toMatchObject([
      { widgetKey: key('b') },
      { widgetKey: key('a') },
      { widgetKey: key('c') },
    ]);
    expect(clashes).toHaveLength(1);
  });
});

describe('saving what others change too', () => {
  const titlesOf = ({ changed }: { changed: readonly WidgetDraft[] }) => changed.map(({ title }) => title);
  const retitled = (name: string, title: string) => setWidget(key(name), { title });

  test('a changed widget that comes back to the page is sent, and an inserted one only where it was changed since', () => {
    const page = aPage([node('a')], ['a']);
    const off = { ...stored(page), document: removeWidget(key('a'))(page) };
    const inserted = { ...aWidget('b'), id: 'b' };
    const base = withRead(off, inserted, 7);
    const next = addWidget(inserted)(retitled('a', 'Mine')(page));

    expect(titlesOf(changesOf(next, base))).toEqual(['Mine']);
    expect(titlesOf(changesOf(retitled('b', 'Mine too')(next), base))).toEqual(['Mine', 'Mine too']);
    expect(base.widgetVersions).toEqual({ a: 1, b: 7 });
  });

  test.each(['app-page', 'dashboard'] as const)(
    'a widget of the %s that one has taken off and the other has changed stays on it, and is told',
    (kind) => {
      const cells = [
        { i: key('a'), x: 0, y: 0, w: 4, h: 4 },
        { i: key('b'), x: 4, y: 0, w: 4, h: 4 },
      ];
      const base: PageDocument = {
        ...aPage([node('a'), node('b')], ['a', 'b'], { later: 1 }),
        ...(kind === 'dashboard' && { kind, config: { widgets: [key('a'), key('b')], layouts: { lg: cells } } }),
      };
      const [off, changed] = [removeWidget(key('a'))(base), retitled('a', 'Changed')(base)];
      for (const [own, other, removedBy] of [
        [off, changed, 'me'],
        [changed, off, 'them'],
      ] as const) {
        const { document, clashes } = mergeDocuments(base, own, other);
        const layout = kind === 'dashboard' ? document.config.layouts : layoutIn(document.config).children;

        expect(document.widgets[key('a')]?.title).toBe('Changed');
        expect(document.config.widgets).toEqual([key('b'), key('a')]);
        expect(JSON.stringify(layout).split(key('a'))).toHaveLength(2);
        expect(clashes).toContainEqual({ widget: 'Changed', path: [], removedBy });
      }
      const { document, clashes } = mergeDocuments(base, off, retitled('b', 'Theirs')(base));
      expect([document.config.widgets, JSON.stringify(document).includes(key('a')), clashes]).toEqual([
        [key('b')],
        false,
        [],
      ]);
    },
  );

  test('changes that were not saved come back after a reload: where others changed the page, with theirs beside', () => {
    const page = aPage([node('a')], ['a', 'b']);
    const base = stored(page);
    const document = retitled('a', 'Mine')(addWidget({ ...aWidget('c'), id: 'c' })(page));
    const unsaved = { base: withRead(base, { ...aWidget('c'), id: 'c' }, 3), document, ids: {} };
    const next = stored({ ...page, title: 'Theirs' }, 2);
    const onlyWidget = { ...stored(page), widgetVersions: { a: 2, b: 1 } };

    // The inserted widget is in one of them alone.
    expect(restored(unsaved, base)).toMatchObject({ document, base: { known: { a: {}, c: {} } } });
    expect(restored(unsaved, base)).not.toHaveProperty('theirs');
    expect(restored(unsaved, next)).toEqual({ ...unsaved, theirs: next });
    expect(restored(unsaved, onlyWidget)).toEqual({ ...unsaved, theirs: onlyWidget });
    // It was saved, and the answer was lost.
    expect(restored(unsaved, stored(document, 2))).toBeUndefined();
  });

  test('no step leads back to before both changes were joined', () => {
    const one = historyReducer(beginHistory('a'), { type: 'change', next: () => 'b', at: 1 });
    const joined = historyReducer(one, { type: 'restart', now: 'both' });

    expect(historyReducer(joined, { type: 'undo' }).now).toBe('both');
    expect(joined.moves).toBe(1);
  });
});

describe('the grid of a dashboard', () => {
  const dashboard: PageDocument = {
    ...aPage([], ['a', 'b']),
    kind: 'dashboard',
    config: {
      widgets: [key('a'), key('b')],
      layouts: {
        lg: [
          { i: key('b'), x: 0, y: 4, w: 4, h: 4, later: 1 },
          { i: key('a'), x: 0, y: 0, w: 4, h: 4 },
        ],
      },
    },
  };

  test('a cell keeps fields that are not known, the order in which it is stored, and its position among the columns', () => {
    const moved = changeCell(key('b'), 'lg', { x: 20 })(dashboard);

    expect(moved.config.layouts).toEqual({
      lg: [
        { i: key('b'), x: 8, y: 4, w: 4, h: 4, later: 1 },
        { i: key('a'), x: 0, y: 0, w: 4, h: 4 },
      ],
    });
    expect(setCell('lg', { i: key('a'), x: 0, y: 0, w: 4, h: 4 })(dashboard)).toBe(dashboard);
  });

  test('what a cell covers goes below it', () => {
    const { layouts } = changeCell(key('a'), 'lg', { h: 2 })(dashboard).config;

    expect(layouts).toMatchObject({ lg: [{ y: 6 }, { y: 0, h: 6 }] });
  });
});

test('widgets are found by words of other tools', () => {
  const offers = offersOf({ stat: { label: 'Figure' }, select: { label: 'Select' }, own: { label: 'Gantt' } }, true);
  const first = (words: string) => offersFor(words, offers)[0]?.type;

  expect(['kpi', 'dropdown', 'card', 'gantt', 'side by'].map(first)).toEqual(['stat', 'select', 'stat', 'own', 'row']);
  expect(offersFor('qqq', offers)).toEqual([]);
});
