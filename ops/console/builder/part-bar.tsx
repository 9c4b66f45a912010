import { ActionIcon, Button, Group, Menu, NumberInput } from '@mantine/core';
import '@mantine/core/styles/NumberInput.css';
import { Icon } from '../ui/icon.tsx';
import type { PageDocument } from './document.ts';
import { COLUMNS, type Move, nameOfPart, partOf, type Section, sections, spanOf, stepOf } from './parts.ts';
import type { PartActions } from './use-part-actions.ts';

interface Props {
  document: PageDocument;
  selection: ReadonlySet<string>;
  actions: PartActions;
}

const moves: readonly { move: Move; words: string; keys: string }[] = [
  { move: 'before', words: 'Move up', keys: 'Alt ↑' },
  { move: 'after', words: 'Move down', keys: 'Alt ↓' },
  { move: 'into', words: 'Move into the part beside it', keys: 'Alt →' },
  { move: 'out', words: 'Move out of the part around it', keys: 'Alt ←' },
];

/** Actions on the part that is chosen, by buttons; the keys beside them do the same. */
export function PartBar({ document, selection, actions }: Props) {
  const [only, ...others] = selection;
  if (only === undefined) return <span className="note">Choose a part of the page to change it.</span>;
  const isAlone = others.length === 0;
  const part = partOf(document, only);
  const isRoot = document.kind === 'app-page' && isAlone && part?.node !== undefined && !part.position;
  const name = isAlone ? nameOfPart(document, only) : `${selection.size} parts`;
  return (
    <Group gap={6}>
      <strong className="clip builder-chosen">
        <bdi>{name}</bdi>
      </strong>
      {!isRoot && (
        <>
          {isAlone && part?.position && (
            <>
              <NumberInput
                aria-label="Width in columns of twelve"
                title="Width in columns of twelve; empty: its share of the row"
                size="xs"
                w={68}
                min={1}
                max={COLUMNS}
                placeholder="auto"
                value={spanOf(part.node) ?? ''}
                onChange={(value) => actions.setSpan(only, typeof value === 'number' ? value : undefined)}
              />
              <Step move="before" document={document} id={only} actions={actions} />
              <Step move="after" document={document} id={only} actions={actions} />
            </>
          )}
          <ActionIcon variant="default" aria-label="Remove" title="Remove (Delete)" onClick={actions.remove}>
            <Icon name="cross" size={14} />
          </ActionIcon>
          <PartMenu {...{ document, selection, actions }} />
        </>
      )}
    </Group>
  );
}

function Step({ move, document, id, actions }: Pick<Props, 'document' | 'actions'> & { move: Move; id: string }) {
  const { words, keys } = moves.find((one) => one.move === move) ?? { words: '', keys: '' };
  return (
    <ActionIcon
      variant="default"
      aria-label={words}
      title={`${words} (${keys})`}
      disabled={!stepOf(document, id, move)}
      onClick={() => actions.move(move)}
    >
      {move === 'before' ? '↑' : '↓'}
    </ActionIcon>
  );
}

function PartMenu({ document, selection, actions }: Props) {
  const [only = '', ...others] = selection;
  const part = others.length === 0 ? partOf(document, only) : undefined;
  const isPage = document.kind === 'app-page';
  return (
    <Menu position="bottom-start" width={280}>
      <Menu.Target>
        <Button size="xs" variant="default" rightSection={<Icon name="down" size={12} />}>
          More
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {part?.position &&
          moves.map(({ move, words, keys }) => (
            <Menu.Item
              key={move}
              disabled={!stepOf(document, only, move)}
              rightSection={<small>{keys}</small>}
              onClick={() => actions.move(move)}
            >
              {words}
            </Menu.Item>
          ))}
        <Menu.Item rightSection={<small>Ctrl D</small>} onClick={actions.duplicate}>
          Duplicate
        </Menu.Item>
        <Menu.Item rightSection={<small>Ctrl C</small>} onClick={() => void actions.copy()}>
          Copy
        </Menu.Item>
        {isPage && (
          <>
            <Menu.Label>Put something around it</Menu.Label>
            {(['row', 'column', 'container'] as const satisfies Section[]).map((type) => (
              <Menu.Item key={type} onClick={() => actions.wrap(type)}>
                {sections[type].word}
              </Menu.Item>
            ))}
            {part?.node && part.node.type !== 'widget' && (
              <Menu.Item onClick={actions.unwrap}>Take it away and leave what is in it</Menu.Item>
            )}
          </>
        )}
        <Menu.Item className="dangerous" rightSection={<small>Delete</small>} onClick={actions.remove}>
          Remove
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
