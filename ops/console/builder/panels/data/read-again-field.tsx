import { MultiSelect } from '../../../ui/multi-select.tsx';
import type { Source } from '../config.ts';
import type { PanelProps } from '../panel.ts';
import { followersOf, isChanging, readingIn, withFollowers } from './read-again.ts';

interface Props extends Pick<PanelProps, 'document' | 'edit'> {
  source: Source | undefined;
}

/** The queries of the page that are read again once an action has come to its end: tables and figures then show what it has changed. */
export function ReadAgain({ document, edit, source }: Props) {
  const reading = readingIn(document);
  if (!source || !isChanging(source) || reading.length === 0) return null;
  const chosen = followersOf(document, source);
  return (
    <MultiSelect
      label="When it has ended, read again"
      placeholder={chosen.length === 0 ? 'Nothing' : ''}
      data={reading.map(({ alias }) => alias)}
      value={chosen}
      onChange={(next) => edit((old) => withFollowers(old, source, next), `what follows ${source.alias}`)}
    />
  );
}
