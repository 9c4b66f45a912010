import { Group, Text, Title } from '@mantine/core';
import { type ComponentProps, type ReactNode, useEffect, useId, useState } from 'react';
import { type Connection, connectionWords } from '../client/connection.ts';
import type { Schemas } from '../client/types.ts';
import { Icon } from '../ui/icon.tsx';
import { Notice } from '../ui/notice.tsx';
import { type Column, Scroller, Table } from '../ui/table.tsx';
import { durationText } from '../ui/time.tsx';
import { board, queuePath } from './board.ts';

type RowsOf<T> = ComponentProps<typeof Table<T>> & { empty: string };

/** Figures with their title, and with a word on where they come from and how old they are. */
export function Section({ title, said, children }: { title: string; said: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <Group justify="space-between" gap="xs" mt="lg" mb="xs">
        <Title order={2} size="h5" id={id}>
          {title}
        </Title>
        <Text size="sm" c="dimmed">
          {said}
        </Text>
      </Group>
      {children}
    </section>
  );
}

/** Rows whose figures were read together. */
export function Panel<T>({
  title,
  at,
  said,
  ...rows
}: Omit<RowsOf<T>, 'caption'> & { title: string; at: string; said?: string }) {
  return (
    <Section
      title={title}
      said={
        <>
          {said ? `${said}, ` : ''}
          <ReadAgo at={at} />
        </>
      }
    >
      <Scroller label={title} isPanel>
        <Rows caption={title} {...rows} />
      </Scroller>
    </Section>
  );
}

export function ReadAgo({ at }: { at: string }) {
  return (
    <>
      read <Age at={at} /> ago
    </>
  );
}

/** Whether figures come by themselves as they are read. */
export function LiveMark({ connection }: { connection: Connection }) {
  const isLive = connection === 'live';
  return (
    <span className="status" data-tone={isLive ? 'ok' : 'wait'} role="status">
      <Icon name={isLive ? 'check' : 'clock'} />
      {connectionWords[connection]}
    </span>
  );
}

/** The time since a moment, to the second. */
export function Age({ at }: { at: string }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.round((now - Date.parse(at)) / 1_000));
  return <span className="nowrap">{seconds < 60 ? `${seconds} s` : durationText(seconds * 1_000)}</span>;
}

/** A table, or a sentence where there is no row. */
export function Rows<T>({ empty, ...table }: RowsOf<T>) {
  if (table.rows.length > 0) return <Table {...table} />;
  return (
    <Text p="xl" ta="center" c="dimmed">
      {empty}
    </Text>
  );
}

export function countText({ count, isCut }: { count: number; isCut: boolean }): string {
  return `${isCut ? 'at least ' : ''}${count.toLocaleString()}`;
}

/** To the queue's jobs on the board. */
export function QueueLink({ queue }: { queue: string }) {
  return (
    <a className="link" href={queuePath(queue)}>
      {queue}
    </a>
  );
}

/** Says which queues an operator has paused, since nothing else tells why their work waits. */
export function PausedQueues({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <Notice tone="wait" title="Paused by an operator">
      {names.map((name, index) => (
        <span key={name}>
          {index > 0 && ', '}
          <QueueLink queue={name} />
        </span>
      ))}
      . Workers take no work from {names.length === 1 ? 'it' : 'them'} until it is resumed on the board.
    </Notice>
  );
}

type BacklogRow = Schemas['FleetBacklog'];

const columns: readonly Column<BacklogRow>[] = [
  {
    head: 'Queue',
    cell: (row) => (
      <>
        {board.queues.includes(row.queue) ? <QueueLink queue={row.queue} /> : row.queue}
        <div className="narrow note">{classAndState(row)}</div>
      </>
    ),
  },
  { head: 'Class and state', cell: classAndState, isWide: true },
  { head: 'Waiting', cell: countText },
  { head: 'Oldest', cell: ({ oldest }) => <Age at={oldest} /> },
];

function classAndState({ state, class: kind }: BacklogRow): string {
  return kind ? `${kind}, ${state}` : state;
}

export function Backlog({ at, rows, empty }: { at: string; rows: readonly BacklogRow[]; empty: string }) {
  return (
    <Panel
      title="Backlog"
      at={at}
      columns={columns}
      rows={rows}
      idOf={({ queue, class: kind, state }) => `${queue} ${kind} ${state}`}
      empty={empty}
    />
  );
}
