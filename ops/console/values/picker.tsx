import { type KeyboardEvent, useDeferredValue, useEffect, useId, useMemo, useRef, useState } from 'react';
import type { ValuesHere } from './context.ts';
import { pathText, type Syntax } from './path.ts';
import { type Row, rowsOf, searched } from './rows.ts';
import { samples } from './samples.ts';
import { type Key, shortText, typeOf, type Values } from './value.ts';

interface Props {
  here: ValuesHere;
  syntax: Syntax;
  onPick: (path: readonly Key[]) => void;
}

/** The values that a step can name, as a tree that can be searched, with what each was in the last test. */
export function ValuePicker({ here, syntax, onPick }: Props) {
  const { isTested, onNeed } = here;
  const values = useMemo(() => namedBy(here.values, syntax), [here.values, syntax]);
  const [typed, setTyped] = useState('');
  const search = useDeferredValue(typed.trim());
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState(0);
  const tree = useRef<HTMLDivElement>(null);
  const find = useRef<HTMLInputElement>(null);
  const id = useId();
  const found = useMemo(() => (search === '' ? undefined : searched(values, search)), [values, search]);
  const rows = useMemo(() => found?.rows ?? rowsOf(values, toggled), [found, values, toggled]);
  const at = Math.min(active, rows.length - 1);
  useEffect(() => {
    tree.current?.querySelector('[data-active]')?.scrollIntoView({ block: 'nearest' });
  });
  useEffect(() => find.current?.focus(), []);
  const toggle = ({ key, value, isOpen }: Row) => {
    if (isOpen === undefined) return;
    if (!isOpen && value?.omittedAt !== undefined) onNeed([value.omittedAt]);
    setToggled(toggled.symmetricDifference(new Set([key])));
  };
  const choose = (row: Row) => {
    if (row.value === undefined) return toggle(row);
    if (pathText(row.value.path, syntax) !== undefined) onPick(row.value.path);
  };
  const move = (to: number) => {
    if (to < 0) find.current?.focus();
    else setActive(Math.min(to, rows.length - 1));
  };
  const onKey = (event: KeyboardEvent) => {
    const row = rows[at];
    const wanted = row && wantedBy(event.key, row, { at, rows });
    if (!wanted) return;
    event.preventDefault();
    if (wanted === 'toggle') toggle(row);
    else if (wanted === 'choose') choose(row);
    else move(wanted.to);
  };
  return (
    <div className="value-picker">
      <input
        ref={find}
        type="text"
        className="value-find"
        data-mantine-stop-propagation="true"
        aria-label="Find a value"
        placeholder="Find a value"
        value={typed}
        onChange={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setActive(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') {
            event.preventDefault();
            tree.current?.focus();
          } else if (event.key === 'Enter') {
            event.preventDefault();
            // The rows may still be those of an earlier text.
            const [first] = typed.trim() === '' ? [] : searched(values, typed).rows;
            if (first) choose(first);
          }
        }}
      />
      {rows.length > 0 ? (
        <div
          ref={tree}
          role="tree"
          data-mantine-stop-propagation="true"
          aria-label="Values"
          tabIndex={0}
          aria-activedescendant={`${id}-${at}`}
          className="value-tree"
          onKeyDown={onKey}
        >
          {rows.map((row, index) => (
            <TreeRow
              key={row.key}
              id={`${id}-${index}`}
              row={row}
              syntax={syntax}
              isActive={index === at}
              onToggle={() => {
                setActive(index);
                toggle(row);
              }}
              onChoose={() => choose(row)}
            />
          ))}
        </div>
      ) : (
        <p className="value-note">
          {search === ''
            ? 'Nothing can be named here yet: the workflow declares no inputs, and no step with a result comes before.'
            : 'No value has this in its name.'}
        </p>
      )}
      {found?.isCut && <p className="value-note">There may be more: type more of the name.</p>}
      {!isTested && <p className="value-note">{samples[values.source].toSee}</p>}
    </div>
  );
}

/** Those that a field can name; lists of keys name results alone. */
function namedBy(values: Values, syntax: Syntax): Values {
  if (syntax !== 'key') return values;
  const groups = values.groups.map((group) => ({
    ...group,
    values: group.values.filter(({ path }) => pathText(path, syntax) !== undefined),
  }));
  return { ...values, groups: groups.filter((group) => group.values.length > 0) };
}

type Wanted = 'toggle' | 'choose' | { to: number };

/** The wish behind a key of a tree. */
function wantedBy(
  key: string,
  { isOpen }: Row,
  { at, rows }: { at: number; rows: readonly Row[] },
): Wanted | undefined {
  switch (key) {
    case 'ArrowDown':
      return { to: at + 1 };
    case 'ArrowUp':
      return { to: at - 1 };
    case 'Home':
      return { to: 0 };
    case 'End':
      return { to: rows.length - 1 };
    case 'ArrowRight':
      return isOpen === false ? 'toggle' : { to: at + 1 };
    case 'ArrowLeft':
      return isOpen ? 'toggle' : { to: parentOf(rows, at) };
    case 'Enter':
      return 'choose';
    case ' ':
      return 'toggle';
    default:
      return undefined;
  }
}

function parentOf(rows: readonly Row[], at: number): number {
  const level = rows[at]?.level ?? 1;
  const index = rows.slice(0, at).findLastIndex((row) => row.level < level);
  return Math.max(index, 0);
}

interface RowProps {
  id: string;
  row: Row;
  syntax: Syntax;
  isActive: boolean;
  onToggle: () => void;
  onChoose: () => void;
}

function TreeRow({ id, row, syntax, isActive, onToggle, onChoose }: RowProps) {
  const { level, name, value, isOpen, more } = row;
  const isNamed = value === undefined || pathText(value.path, syntax) !== undefined;
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the tree, which names the active row
    // biome-ignore lint/a11y/useKeyWithClickEvents: its keys are those of the tree
    <div
      id={id}
      role="treeitem"
      aria-level={level}
      aria-expanded={isOpen}
      aria-selected={isActive}
      aria-disabled={!isNamed || more !== undefined}
      data-active={isActive || undefined}
      data-group={value === undefined && more === undefined ? true : undefined}
      className="value-row"
      style={{ paddingInlineStart: 4 + (level - 1) * 14 }}
      title={value?.note}
      onMouseDown={(event) => event.preventDefault()}
      onClick={onChoose}
    >
      <span
        className="value-toggle"
        aria-hidden="true"
        onClick={(event) => {
          event.stopPropagation();
          onToggle();
        }}
      >
        {isOpen === undefined ? '' : isOpen ? '▾' : '▸'}
      </span>
      {more === undefined ? (
        <>
          <bdi className="value-name">{name}</bdi>
          {value && <span className="value-type">{typeOf(value)}</span>}
          {value && <bdi className="value-sample">{detailOf(row)}</bdi>}
        </>
      ) : (
        <span className="value-sample">{more.toLocaleString('en')} more: search for them</span>
      )}
    </div>
  );
}

function detailOf({ value, isOpen }: Row): string {
  if (!value) return '';
  if (value.omittedAt !== undefined) return isOpen ? 'Reading …' : 'large: open it to see it';
  if (value.sample !== undefined) return shortText(value.sample);
  return value.note ?? '';
}
