import { CloseButton, Group, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Schemas } from '../client/types.ts';
import { withoutTurning } from '../code/turning.ts';
import { countOf } from '../ui/count.ts';
import { Detail } from '../ui/detail.tsx';
import { JSONView } from '../ui/json.tsx';
import { Moment } from '../ui/time.tsx';
import { doneOf, fieldOf, nounOf, Outcome } from './outcome.tsx';

type Entry = Schemas['AuditLog'];

/** One entry: who, from where, what it changed, and the request and its answer without secrets. */
export function EntryPanel({ entry, actor, onClose }: { entry: Entry; actor: string; onClose: () => void }) {
  const { metadata, path, subType, changes, changeCount, asset, tenantID, createdAt } = entry;
  const { request, response, durationMs } = metadata as {
    request?: { ip?: string; body?: unknown; headers?: Record<string, unknown> };
    response?: { body?: unknown };
    durationMs?: number | null;
  };
  return (
    <Stack gap="sm">
      <Group justify="space-between" wrap="nowrap">
        <Text component="h2" fw={600} className="breaks">
          {doneOf(entry)}
        </Text>
        <CloseButton aria-label="Close the entry" onClick={onClose} />
      </Group>
      <Outcome of={entry} />
      <dl className="facts">
        <Detail name="At">
          <Moment at={createdAt} isExact />
        </Detail>
        <Detail name="By">
          <bdi className="breaks">{actor}</bdi>
        </Detail>
        {request?.ip && <Detail name="From">{request.ip}</Detail>}
        {typeof durationMs === 'number' && <Detail name="Took">{durationMs} ms</Detail>}
      </dl>
      {path && (
        <code className="breaks">
          {subType} {path}
        </code>
      )}
      {asset && (
        <Link
          className="link"
          to="/t/$tenantID/audit"
          params={{ tenantID }}
          search={{ assetID: asset.id, changes: true }}
        >
          History of this {nounOf(asset.type)}
        </Link>
      )}
      {changes.length > 0 && <Changes changes={changes} count={changeCount} />}
      <Part name="Body of the request" value={request?.body} />
      <Part name="Body of the answer" value={response?.body} />
      <Part name="All that was recorded" value={metadata} />
    </Stack>
  );
}

function Part({ name, value }: { name: string; value: unknown }) {
  if (value === undefined || value === null) return null;
  return (
    <details className="group">
      <summary>{name}</summary>
      <JSONView value={value} label={name} />
    </details>
  );
}

const done: Readonly<Record<string, string>> = { create: 'Created', update: 'Changed', delete: 'Deleted' };

/** Changes by field, from old to new. */
function Changes({ changes, count }: { changes: Entry['changes']; count: number }) {
  return (
    <section aria-label="Changes">
      <Text component="h3" fw={600} size="sm">
        Changes
      </Text>
      {changes.map(({ assetType, assetID, action, changes: fields }) => (
        <div key={`${assetID} ${action}`}>
          <Text size="sm">
            {done[action] ?? action} the {nounOf(assetType)} <code>{assetID.slice(-8)}</code>
          </Text>
          <ul className="lines">
            {Object.entries(fields).map(([field, change]) => (
              <li key={field} className="breaks">
                <strong>{fieldOf(assetType, field)}</strong>: <Value of={change} end="from" /> →{' '}
                <Value of={change} end="to" />
              </li>
            ))}
          </ul>
        </div>
      ))}
      {count > changes.length && (
        <Text size="sm" c="dimmed">
          And {countOf(count - changes.length, 'other')}, which the export has.
        </Text>
      )}
    </section>
  );
}

const MAX_SHOWN = 300;

function Value({ of, end }: { of: unknown; end: 'from' | 'to' }) {
  const value = (of as Partial<Record<'from' | 'to', unknown>> | null)?.[end];
  const text = withoutTurning(value === undefined || value === null ? 'nothing' : JSON.stringify(value));
  return <bdi>{text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text}</bdi>;
}
