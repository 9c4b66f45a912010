import { Text } from '@mantine/core';
import type { Plan } from '../client/bundles.ts';
import { countOf } from '../ui/count.ts';
import { JSONView } from '../ui/json.tsx';
import { Scroller, Table } from '../ui/table.tsx';
import { Words } from '../ui/words.tsx';
import { actionWords, notesOf, pathWords, typeWords } from './words.ts';

type Item = Plan['items'][number];

/** The fate of each item, with every value that changes. */
export function PlanTable({ plan: { items } }: { plan: Plan }) {
  return (
    <Scroller label="What the import does">
      <Table
        caption="What the import does"
        columns={[
          { head: 'Asset', cell: (item) => <bdi>{item.title}</bdi> },
          { head: 'Type', cell: ({ type }) => typeWords[type].one },
          { head: 'What happens', cell: (item) => <Fate item={item} /> },
        ]}
        rows={items}
        idOf={({ id, type }) => `${type} ${id}`}
      />
    </Scroller>
  );
}

function Fate({ item }: { item: Item }) {
  const { word, tone } = actionWords[item.action];
  const { changes } = item;
  return (
    <>
      <span className="status" data-tone={tone}>
        {word}
      </span>
      {notesOf(item).map((note) => (
        <Text key={note} size="xs" className="breaks">
          <Words text={note} />
        </Text>
      ))}
      {changes.length > 0 && (
        <details>
          <summary>{countOf(changes.length, 'change')}</summary>
          <JSONView value={changes.map(lineOf).join('\n')} label={`Changes of ${item.title}`} />
        </details>
      )}
    </>
  );
}

function lineOf({ path, before, after }: Item['changes'][number]): string {
  const shown = (value: unknown) => (value === undefined ? '(none)' : JSON.stringify(value));
  return `${pathWords(path)}: ${shown(before)} → ${shown(after)}`;
}
