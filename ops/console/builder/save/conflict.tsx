import { Button, Group } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useAuthorNames } from '../../client/members.ts';
import { pageVersionsRead } from '../../client/page-versions.ts';
import { wordsOfName } from '../../ui/field-words.ts';
import { Notice } from '../../ui/notice.tsx';
import { Clock } from '../../ui/time.tsx';
import type { PageDocument, StoredPage } from '../document.ts';
import { type Clash, mergeDocuments } from './merge.ts';

interface Props {
  tenantID: string;
  base: PageDocument;
  /** With the keys of widgets that have been saved. */
  own: PageDocument;
  theirs: StoredPage;
  onMerge: (merged: PageDocument) => void;
  onOverwrite: () => void;
  onTheirs: () => void;
}

/** Another person has saved the page: what they have changed, and what becomes of both changes. */
export function Conflict({ tenantID, base, own, theirs, onMerge, onOverwrite, onTheirs }: Props) {
  const [isShown, setShown] = useState(false);
  const { kind, id } = own;
  const versions = useInfiniteQuery({ ...pageVersionsRead({ tenantID, kind, id }), staleTime: 0 });
  const latest = versions.data?.pages[0]?.versions[0];
  const authorOf = useAuthorNames(tenantID);
  const isOfPage = latest?.number === theirs.versionNumber;
  const who = latest && isOfPage ? authorOf(latest.creatorID, latest.createdByApiKeyID) : 'Someone else';
  const merged = mergeDocuments(base, own, theirs.document);
  return (
    <Notice tone="bad" role="alert" title="Changed meanwhile">
      <p>
        <bdi>{who}</bdi> saved at <Clock at={theirs.updatedAt} />. Nothing of yours is lost, and nothing of it is saved
        yet.
      </p>
      {isShown && (
        <ul className="lines" aria-label="What they have changed">
          {merged.theirs.map((clash) => (
            <Line key={keyOf(clash)} clash={clash} />
          ))}
          {merged.clashes.map((clash) => (
            <Line key={keyOf(clash)} clash={clash} more=": you have changed this too. Merging keeps yours." />
          ))}
        </ul>
      )}
      <Group gap="xs">
        <Button size="xs" variant="default" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
          Show what they changed
        </Button>
        <Button size="xs" onClick={() => onMerge(merged.document)}>
          Merge theirs into mine
        </Button>
        <Button size="xs" variant="default" onClick={onOverwrite}>
          Overwrite theirs with mine
        </Button>
        <Button size="xs" variant="default" onClick={onTheirs}>
          Load theirs and drop mine
        </Button>
      </Group>
    </Notice>
  );
}

const removals = {
  me: 'you have taken it off, and they have changed it. Merging keeps it as they have it.',
  them: 'they have taken it off, and you have changed it. Merging keeps it as you have it.',
};

function Line({ clash: { widget, path, removedBy }, more = '' }: { clash: Clash; more?: string }) {
  if (removedBy)
    return (
      <li>
        <bdi>{widget}</bdi>: {removals[removedBy]}
      </li>
    );
  const [field = 'page', ...rest] = path.filter((part) => part !== 'config');
  return (
    <li>
      <bdi>{widget ?? 'The page'}</bdi>: {[field, ...rest].map(wordsOfName).join(', ')}
      {more}
    </li>
  );
}

const keyOf = ({ widget, path, removedBy }: Clash) => `${widget} ${removedBy} ${path.join('.')}`;
