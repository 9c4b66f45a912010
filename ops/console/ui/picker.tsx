import { type ComboboxParsedItem, Group as Row, Select, Text, TextInput } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { useQueries } from '@tanstack/react-query';
import { type ReactNode, Suspense, useContext, useState } from 'react';
import { useMay, usePermissions } from '../client/may.ts';
import { type Named, type PickedType, referenceRead, referencesRead, SHOWN, sourceOf } from '../client/references.ts';
import { reasonOf } from '../client/unknown-title.ts';
import { ListLink, OpenLink, useTenantID } from './asset-title.tsx';
import { CreateHere } from './create-here.ts';
import { MultiSelect } from './multi-select.tsx';
import { choicesFrom, distinctTitles, type Group, isID, type Known, noteOf, nounsOf } from './picked.ts';

interface Shared {
  /** The types of what can be chosen. */
  types: readonly PickedType[];
  label: string;
  description?: ReactNode;
  error?: ReactNode;
  required?: boolean;
  disabled?: boolean;
  placeholder?: string;
  /** Further choices, above those of the list. */
  before?: readonly Named[];
  /** Whether the field takes addresses of members too, by which those can be chosen who have not signed in yet. */
  takesNames?: boolean;
  /** Whether one of the list can be chosen. */
  accepts?: (one: Named) => boolean;
}

interface Props extends Shared {
  /** In a filter nothing is created or opened. */
  isFilter?: boolean;
  value: string | undefined;
  onChange: (id: string | undefined, chosen?: Named) => void;
}

/** A choice of one asset by its title, found by the API; the title of the present value is shown wherever it stands in the list. */
export function Picker({ value, onChange, isFilter = false, ...shared }: Props) {
  const { types, label, description, error, required = false, disabled = false } = shared;
  const id = value !== undefined && value !== '' ? value : undefined;
  const { choices, known, mayList, search, list, dropdown } = useChoices(shared, id === undefined ? [] : [id]);
  const current = id === undefined ? undefined : known.get(id);
  const nouns = nounsOf(types.map((type) => sourceOf[type].noun));
  const field = { label, description, error, required, disabled };
  return (
    <div>
      {mayList || shared.before ? (
        <Select
          {...field}
          withAsterisk={required}
          clearable={!required}
          clearButtonProps={{ 'aria-label': isFilter ? `Any ${label.toLowerCase()}` : `Clear ${label}` }}
          allowDeselect={false}
          placeholder={shared.placeholder ?? `Choose ${nouns.article} ${nouns.one}`}
          nothingFoundMessage={
            list.message ?? (search === '' ? `There is no ${nouns.one} yet` : `No ${nouns.one} has this in its title`)
          }
          data={optionsOf(choices, list.isFull)}
          {...dropdown}
          renderOption={({ option }) => <Option title={option.label} detail={detailIn(choices, option.value)} />}
          value={id ?? null}
          onChange={(next) => onChange(next ?? undefined, next === null ? undefined : find(choices, next))}
        />
      ) : (
        <TextInput
          {...field}
          value={id ?? ''}
          onChange={({ currentTarget }) => onChange(currentTarget.value.trim() || undefined)}
        />
      )}
      {!isFilter && (
        <Beside
          types={types}
          known={current}
          mayList={mayList}
          nouns={nouns.several}
          takesID={shared.before === undefined}
          accepts={shared.accepts}
          disabled={disabled}
          onCreated={onChange}
        />
      )}
    </div>
  );
}

interface ManyProps extends Shared {
  value: readonly string[];
  onChange: (ids: string[]) => void;
  /** Whether something new can be made beside it. */
  canCreate?: boolean;
  /** Small, with a label for assistive technology alone: words above it say what is chosen. */
  isLabelHidden?: boolean;
}

/** A choice of several. What is no id is shown as it is: some fields take names too. */
export function ManyPicker({ value, onChange, canCreate = true, isLabelHidden = false, ...shared }: ManyProps) {
  const { types, label, description, error, required = false, disabled = false } = shared;
  const { choices, known, mayList, list, close, dropdown } = useChoices(shared, value);
  const nouns = nounsOf(types.map((type) => sourceOf[type].noun));
  const lost = [...known.values()].filter(({ reason }) => reason !== undefined);
  return (
    <div>
      <MultiSelect
        {...{ description, error, required, disabled }}
        {...(isLabelHidden ? { 'aria-label': label, size: 'xs', mt: 4 } : { label })}
        placeholder={value.length === 0 ? (shared.placeholder ?? `Choose ${nouns.several}`) : ''}
        hidePickedOptions
        nothingFoundMessage={list.message ?? (mayList ? 'Nothing found' : `You may not list ${nouns.several}`)}
        data={optionsOf(distinctTitles(choices), list.isFull)}
        {...dropdown}
        renderOption={({ option }) => <Option title={option.label} detail={detailIn(choices, option.value)} />}
        value={[...value]}
        onChange={(ids) => {
          // The list would cover what comes below.
          close();
          onChange(ids);
        }}
      />
      {lost.map((one) => (
        <Note key={one.id} isFault text={noteOf(one)} />
      ))}
      <Beside
        {...{ types, mayList }}
        nouns={nouns.several}
        known={undefined}
        takesID={false}
        takesNames={shared.takesNames}
        accepts={shared.accepts}
        disabled={disabled || !canCreate}
        onCreated={(id) => onChange([...value, id])}
      />
    </div>
  );
}

/**
 * Choices by the typed search, and what is known of the present values. The list is read once it is opened; at once for several
 * values, of which it has most titles.
 */
function useChoices({ types, before = [], takesNames = false, accepts = () => true }: Shared, ids: readonly string[]) {
  const tenantID = useTenantID();
  const permissions = usePermissions(tenantID);
  const [isOpen, { open, close }] = useDisclosure(false);
  const [search, setSearch] = useState('');
  const [typed] = useDebouncedValue(search.trim(), 250);
  const id = ids.length === 1 ? ids[0] : undefined;
  /** A field with a value has its title as its text, which is no search. */
  const [named, setNamed] = useState<{ id: string; title: string }>();
  const title = named?.id === id ? named?.title : undefined;
  const isListed = (type: PickedType) => permissions?.includes(sourceOf[type].list) ?? true;
  const listed = types.filter(isListed);
  const lists = useQueries({
    queries: listed.map((type) => ({
      ...referencesRead(tenantID, type, typed === title ? '' : typed),
      // An id may be of either type: the lists tell which, without asking for it as one that it is not.
      enabled: (isOpen || ids.length > 1 || (ids.length > 0 && types.length > 1)) && permissions !== undefined,
    })),
  });
  const groups: Group<PickedType>[] = listed.map((type, at) => {
    const { several } = nounsOf([sourceOf[type].noun]);
    return {
      type,
      label: several,
      rows: (lists[at]?.data ?? []).filter((one) => (takesNames || isID(one.id)) && accepts(one)),
    };
  });
  if (before.length > 0) groups.unshift({ type: undefined, label: '', rows: before });
  const isReading = lists.some(({ isLoading }) => isLoading) || (types.length > 1 && permissions === undefined);
  const known = useKnown(types, ids, { groups, isReading });
  const own = id === undefined ? undefined : known.get(id);
  // A title that was known stays: the list that takes the place of the search may be without it until it is read by its id.
  if (own && own.title !== own.id && (own.id !== named?.id || own.title !== named.title)) setNamed(own);
  return {
    ...{ known, search, close, choices: choicesFrom(groups, known), mayList: listed.length > 0 },
    list: {
      isFull: lists.some(({ data }) => data?.length === SHOWN),
      /** Shown in place of choices while the list is being read, or if that has failed. */
      message: isReading ? 'Reading…' : lists.find(({ error }) => error)?.error?.message,
    },
    dropdown: {
      filter: ({ options }: { options: ComboboxParsedItem[] }) => options,
      searchable: true,
      dropdownOpened: isOpen,
      searchValue: search,
      onSearchChange: setSearch,
      onDropdownOpen: open,
      onDropdownClose: close,
    },
  };
}

interface Listed {
  groups: readonly Group<PickedType>[];
  isReading: boolean;
}

/** Titles of the present values: as the list says, else as each is read by its id. */
function useKnown(types: readonly PickedType[], ids: readonly string[], { groups, isReading }: Listed) {
  const tenantID = useTenantID();
  const inList = new Map(groups.flatMap(({ rows, type }) => rows.map((row) => [row.id, { ...row, type }] as const)));
  const asked = ids.filter((id) => isID(id) && !inList.has(id)).flatMap((id) => types.map((type) => ({ id, type })));
  const reads = useQueries({
    queries: asked.map(({ id, type }) => ({ ...referenceRead(tenantID, type, id), enabled: !isReading })),
  });
  return new Map(
    ids.map((id): [string, Known<PickedType>] => {
      const own = asked.flatMap((one, at) =>
        one.id === id ? [{ type: one.type, data: reads[at]?.data, error: reads[at]?.error }] : [],
      );
      const found = own.find(({ data }) => data);
      const reasons = own.flatMap(({ error }) => reasonOf(error ?? null) ?? []);
      const isLost = own.length > 0 && reasons.length === own.length;
      const reason: Known['reason'] = isLost ? (reasons.find((one) => one !== 'gone') ?? 'gone') : undefined;
      const unknown = { id, title: id, type: undefined, reason };
      return [id, inList.get(id) ?? (found?.data ? { ...found.data, type: found.type } : unknown)];
    }),
  );
}

interface BesideProps {
  types: readonly PickedType[];
  known: Known<PickedType> | undefined;
  mayList: boolean;
  nouns: string;
  /** Whether an id can be typed in place of a choice. */
  takesID: boolean;
  takesNames?: boolean | undefined;
  accepts: Shared['accepts'];
  disabled: boolean;
  onCreated: (id: string) => void;
}

/** Below a picker: what is wrong with its value, the way to it, and to a new one. */
function Beside({ types, known, mayList, nouns, takesID, takesNames, accepts, disabled, onCreated }: BesideProps) {
  const may = useMay();
  const creatable = types.filter((type) => {
    const { create } = sourceOf[type];
    return !disabled && create !== undefined && may(create);
  });
  const isThere = known?.type !== undefined && known.reason === undefined;
  return (
    <>
      {!mayList && <Note text={`You may not list ${nouns}${takesID ? ': the field takes an id' : ''}`} />}
      {known?.reason && <Note isFault text={noteOf(known)} />}
      {(isThere || creatable.length > 0) && (
        <Row gap="sm" mt={4} className="note">
          {isThere && known.type && <OpenLink type={known.type} id={known.id} />}
          {creatable.map((type) => (
            <New key={type} {...{ type, takesNames, accepts, onCreated }} />
          ))}
        </Row>
      )}
    </>
  );
}

function Note({ text, isFault = false }: { text: string; isFault?: boolean }) {
  return (
    <Text size="xs" mt={4} className={isFault ? 'breaks fault' : 'breaks'} role="status">
      {text}
    </Text>
  );
}

type NewProps = { type: PickedType } & Pick<BesideProps, 'takesNames' | 'accepts' | 'onCreated'>;

function New({ type, takesNames, accepts, onCreated }: NewProps) {
  const tenantID = useTenantID();
  const [isOpen, dialog] = useDisclosure(false);
  const Dialog = useContext(CreateHere)[type];
  if (!Dialog) return <ListLink type={type} />;
  return (
    <>
      <button type="button" className="plain link" onClick={dialog.open}>
        New {sourceOf[type].noun}
      </button>
      {isOpen && (
        <Suspense>
          <Dialog
            {...{ tenantID, takesNames, accepts }}
            onCreated={(id) => {
              dialog.close();
              onCreated(id);
            }}
            onClose={dialog.close}
          />
        </Suspense>
      )}
    </>
  );
}

function Option({ title, detail }: { title: string; detail: string | undefined }) {
  return (
    <span className="breaks">
      <bdi>{title}</bdi>
      {detail && (
        <Text component="span" size="xs" c="dimmed">
          {' '}
          {detail}
        </Text>
      )}
    </span>
  );
}

function optionsOf(groups: readonly Group<PickedType>[], isFull: boolean) {
  const items = groups.map(({ label, rows }) => ({
    group: `${label.charAt(0).toUpperCase()}${label.slice(1)}`,
    items: rows.map(({ id, title }) => ({ value: id, label: title })),
  }));
  const more = { value: MORE, label: 'There are more: type a part of the title', disabled: true };
  const flat = items.length === 1 ? (items[0]?.items ?? []) : items;
  return isFull ? [...flat, more] : flat;
}

const MORE = 'more';

function find(groups: readonly Group<PickedType>[], id: string): Named | undefined {
  return groups.flatMap(({ rows }) => rows).find((one) => one.id === id);
}

function detailIn(groups: readonly Group<PickedType>[], id: string): string | undefined {
  return find(groups, id)?.detail;
}
