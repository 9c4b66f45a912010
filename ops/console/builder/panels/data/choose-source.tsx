import { Select } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type Source, sourcesOf } from '../config.ts';
import type { PanelProps } from '../panel.ts';
import { AddSource } from './add-source.tsx';

interface Props extends Pick<PanelProps, 'document' | 'edit'> {
  type: 'query' | 'workflow';
  label: string;
  isRequired?: boolean;
  /** A choice behind those of the page. */
  other?: { value: string; label: string };
  value: unknown;
  onChange: (alias: string) => void;
}

const NEW = ' new';

/** Runs, and messages of a listener, are read as the data of a query; a listener cannot be run. */
function isRead(source: Source, type: Props['type'], isToRun: boolean): boolean {
  return type === 'query' && (source.type === 'runs' || (!isToRun && source.type === 'listener'));
}

/** A query or a workflow of the page by its name; another one can be added to the page from here. */
export function ChooseSource({ document, edit, type, label, isRequired = true, other, value, onChange }: Props) {
  const [isAdding, adding] = useDisclosure(false);
  const own = sourcesOf(document.config).filter((source) => source.type === type || isRead(source, type, isRequired));
  const chosen = typeof value === 'string' ? value : null;
  const isKnown = chosen === null || chosen === other?.value || own.some(({ alias }) => alias === chosen);
  return (
    <>
      <Select
        label={label}
        required={isRequired}
        placeholder={`Choose a ${type}`}
        searchable
        allowDeselect={false}
        error={!isKnown && `This page has no ${type} “${chosen}” any more`}
        data={[
          ...own.map(({ alias }) => ({ value: alias, label: alias })),
          ...(isKnown ? [] : [{ value: chosen, label: chosen }]),
          { value: NEW, label: `Add a ${type} to the page …` },
          ...(other ? [other] : []),
        ]}
        value={chosen}
        onChange={(next) => (next === NEW ? adding.open() : next !== null && onChange(next))}
      />
      {isAdding && (
        <AddSource
          {...{ document, edit, type }}
          onAdded={(alias) => {
            adding.close();
            onChange(alias);
          }}
          onClose={adding.close}
        />
      )}
    </>
  );
}
