import './call-values.css';
import { useQuery } from '@tanstack/react-query';
import { type PickedType, referenceRead } from '../client/references.ts';
import { withoutTurning } from '../code/turning.ts';
import { OpenLink, useTenantID } from './asset-title.tsx';
import { wordsOfName } from './field-words.ts';
import { isObject } from './is-object.ts';

/** Fields that name something by its id. */
const named: Readonly<Record<string, PickedType>> = {
  workflowID: 'workflow',
  dataQueryID: 'dataQuery',
  datasourceID: 'datasource',
  listenerID: 'listener',
  cronJobID: 'cronJob',
  roleID: 'role',
};

interface Argument {
  label: string;
  /** The type that the value names, if it is an id. */
  type: PickedType | undefined;
  value: unknown;
}

function argumentsIn(of: unknown): Argument[] {
  return Object.entries(isObject(of) ? of : {}).map(([name, value]) => {
    const type = Object.hasOwn(named, name) && typeof value === 'string' ? named[name] : undefined;
    return { label: withoutTurning(wordsOfName(type ? name.slice(0, -'ID'.length) : name)), type, value };
  });
}

/** The arguments of a call by their names: an id by the title of what it names, objects as JSON. */
export function CallValues({ of }: { of: unknown }) {
  const values = argumentsIn(of);
  if (values.length === 0) return null;
  return (
    <dl className="call-values">
      {values.map(({ label, type, value }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {type ? (
              <>
                {/* Two of the same title are told apart by their pages. */}
                <Named type={type} id={String(value)} /> <OpenLink type={type} id={String(value)} />
              </>
            ) : (
              withoutTurning(textOf(value, MAX_TEXT))
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The first arguments in a line, by which calls of one tool are told apart. */
export function CallLine({ of }: { of: unknown }) {
  return argumentsIn(of)
    .slice(0, 3)
    .map(({ label, type, value }, index) => (
      <span key={label}>
        {index > 0 && ' · '}
        {label}: {type ? <Named type={type} id={String(value)} /> : withoutTurning(textOf(value, MAX_LINE))}
      </span>
    ));
}

function Named({ type, id }: { type: PickedType; id: string }) {
  const { data } = useQuery({ ...referenceRead(useTenantID(), type, id), retry: false });
  return <bdi>{withoutTurning(data?.title ?? id)}</bdi>;
}

const MAX_TEXT = 4_000;
const MAX_LINE = 100;

function textOf(value: unknown, max: number): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
  return text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;
}
