import './line-diff.css';
import { Text } from '@mantine/core';
import { withoutTurning } from '../code/turning.ts';
import { countOf } from '../ui/count.ts';
import { Scroller } from '../ui/table.tsx';
import { type Change, type FieldChange, linesOf } from './version-changes.ts';

/** A change of a part of a workflow, or of a page. */
type Shown = Omit<Change, 'what'> & { what: string };

/** More of them would make the page slow. */
const MAX_CHANGES = 100;
const MAX_FIELDS = 50;

/** The differences between two versions: by part, from old to new. */
export function ChangeList({ changes }: { changes: readonly Shown[] }) {
  return (
    <>
      {changes.slice(0, MAX_CHANGES).map((change) => (
        <Part key={change.key} change={change} />
      ))}
      <Rest count={changes.length - MAX_CHANGES} />
    </>
  );
}

function Part({ change: { what, name, verb, fields } }: { change: Shown }) {
  return (
    <section aria-label={`${what} ${name}`}>
      <Text size="sm" className="breaks">
        {what}{' '}
        <strong>
          <bdi>{name}</bdi>
        </strong>
        : {verb}
      </Text>
      {fields.length > 0 && (
        <Scroller label={`Fields of ${name}`}>
          <table className="list">
            <caption className="unseen">Fields that were changed</caption>
            <thead>
              <tr>
                <th scope="col">Field</th>
                <th scope="col">Before</th>
                <th scope="col">After</th>
              </tr>
            </thead>
            <tbody>
              {fields.slice(0, MAX_FIELDS).map((field) => (
                <Field key={field.field} change={field} />
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
      <Rest count={fields.length - MAX_FIELDS} />
    </section>
  );
}

function Rest({ count }: { count: number }) {
  return count > 0 && <Text size="sm">And {countOf(count, 'other change')}.</Text>;
}

function Field({ change }: { change: FieldChange }) {
  const lines = linesOf(change);
  return (
    <tr>
      <td className="breaks">{change.field}</td>
      {lines ? (
        <td colSpan={2}>
          <Lines lines={lines} />
        </td>
      ) : (
        <>
          <td className="breaks">
            <bdi>{textOf(change.from)}</bdi>
          </td>
          <td className="breaks">
            <bdi>{textOf(change.to)}</bdi>
          </td>
        </>
      )}
    </tr>
  );
}

function Lines({ lines }: { lines: readonly string[] }) {
  return (
    <div className="line-diff">
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines have no state
        <div key={index} data-sign={line.slice(0, 1)}>
          {withoutTurning(line.slice(0, MAX_SHOWN))}
        </div>
      ))}
    </div>
  );
}

const MAX_SHOWN = 300;

function textOf(value: unknown): string {
  if (value === undefined) return '–';
  const text = withoutTurning(typeof value === 'string' ? value : JSON.stringify(value));
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
