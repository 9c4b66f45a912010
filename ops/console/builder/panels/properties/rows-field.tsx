import { useState } from 'react';
import { sourcesOf } from '../config.ts';
import { ChooseSource } from '../data/choose-source.tsx';
import type { PanelProps } from '../panel.ts';
import { ValueText } from '../values/value-text.tsx';

interface Props extends Pick<PanelProps, 'document' | 'edit'> {
  label: string;
  description: string;
  value: unknown;
  onChange: (value: string | undefined) => void;
}

const OWN = ' own';

/** Rows that a widget shows: those of a query of the page, or what an expression gives. */
export function RowsField({ document, edit, label, description, value, onChange }: Props) {
  const given = typeof value === 'string' ? value : undefined;
  const alias = given && aliasIn(given);
  const isOfPage = alias !== undefined && sourcesOf(document.config).some((source) => source.alias === alias);
  const [isOwn, setOwn] = useState(given !== undefined && !isOfPage);
  return (
    <>
      <ChooseSource
        {...{ document, edit, label }}
        type="query"
        isRequired={false}
        other={{ value: OWN, label: 'What an expression gives' }}
        value={isOwn ? OWN : alias}
        onChange={(next) => {
          setOwn(next === OWN);
          if (next !== OWN) onChange(pathOf(next));
        }}
      />
      {isOwn && <ValueText label="Expression" {...{ description, value, onChange }} />}
    </>
  );
}

/** The query whose rows an expression names, and nothing else of it. */
export function aliasIn(text: string): string | undefined {
  const [, plain, quoted] =
    /^\{\{\s*queries(?:\.([\p{L}_$][\p{L}\p{N}_$]*)|\["([^"]+)"\])\.data\s*\}\}$/u.exec(text) ?? [];
  return plain ?? quoted;
}

function pathOf(alias: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(alias) ? `{{queries.${alias}.data}}` : `{{queries["${alias}"].data}}`;
}
