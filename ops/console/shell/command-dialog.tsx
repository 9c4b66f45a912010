import './command-dialog.css';
import { Modal, Text, TextInput, useMantineColorScheme } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { countOf } from '../ui/count.ts';
import { schemes } from './scheme.tsx';

export interface Command {
  key: string;
  /** The verb before the name. */
  verb: string;
  name: string;
  run: () => unknown;
}

/** So many fit; the others are found by typing more. */
const MAX_SHOWN = 12;

/** The most commands of the page itself: results of the search are shown as well. */
const MAX_OWN = 7;
const TYPING_MS = 150;

interface Props {
  placeholder: string;
  typed: string;
  onType: (typed: string) => void;
  /** Those of the page, of which the words that are typed choose. */
  commands: readonly Command[];
  /** Commands that the search found elsewhere. */
  found: readonly Command[];
  isSearching: boolean;
  onClose: () => void;
}

/** Commands found by words. */
export function CommandDialog({ placeholder, typed, onType, commands, found, isSearching, onClose }: Props) {
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const words = typed.toLowerCase().split(/\s+/);
  const own = commands.filter(({ verb, name }) =>
    words.every((word) => `${verb} ${name}`.toLowerCase().includes(word)),
  );
  const shown = [...own.slice(0, found.length > 0 ? MAX_OWN : MAX_SHOWN), ...found].slice(0, MAX_SHOWN);
  const chosen = Math.min(at, shown.length - 1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen one is brought into view when it changes
  useEffect(() => {
    // The result, a promise in newer browsers, is not for React.
    void list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    void command.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') run(shown[chosen]);
    else if (step && shown.length > 0) setAt((chosen + step + shown.length) % shown.length);
    else return;
    event.preventDefault();
  };
  return (
    <Modal opened onClose={onClose} title="Commands">
      <TextInput
        aria-label="Command"
        placeholder={placeholder}
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={shown[chosen] && `${id} ${chosen}`.replace(' ', '-')}
        data-autofocus
        value={typed}
        onChange={({ currentTarget: { value } }) => {
          onType(value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <div ref={list} id={id} role="listbox" aria-label="Commands that match" className="commands">
        {shown.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field
          <div
            key={command.key}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            className="command"
            onClick={() => run(command)}
          >
            {command.verb} <bdi>{command.name}</bdi>
          </div>
        ))}
      </div>
      <Text size="sm" role="status" className={shown.length > 0 ? 'unseen' : undefined} mt="xs">
        {shown.length > 0 ? countOf(shown.length, 'command') : isSearching ? 'Searching …' : 'Nothing matches.'}
      </Text>
    </Modal>
  );
}

/** The commands that every page has. */
export function usePageCommands({ onKeys, onSignOut }: { onKeys: () => void; onSignOut?: () => void }): Command[] {
  const { setColorScheme } = useMantineColorScheme();
  return [
    ...schemes.map(({ scheme, name }) => ({
      ...{ key: scheme, verb: 'Use colours', name },
      run: () => setColorScheme(scheme),
    })),
    { key: 'keys', verb: 'Show the', name: 'keys', run: onKeys },
    ...(onSignOut ? [{ key: 'out', verb: 'Sign', name: 'out', run: onSignOut }] : []),
  ];
}

/**
 * The text to search for, once the typing pauses: what was typed without the words before a name, such as “open the query”.
 * Undefined while the text is too short.
 */
export function useSearched(typed: string, verbs: ReadonlySet<string>): string | undefined {
  const words = typed.trim().toLowerCase().split(/\s+/);
  const first = words.findIndex((word) => !verbs.has(word));
  const [text] = useDebouncedValue(words.slice(Math.max(first, 0)).join(' '), TYPING_MS);
  return text.length > 1 ? text : undefined;
}

/** The words of some verbs. */
export function wordsOf(verbs: readonly string[]): ReadonlySet<string> {
  return new Set(verbs.join(' ').toLowerCase().split(' '));
}
