import { useMemo, useRef } from 'react';
import { InputForm, Question } from '../apps/lazy-forms.ts';
import { unsavedPageClient } from '../apps/unsaved-page-client.ts';
import { PageView } from '../page/view.tsx';
import { Notice } from '../ui/notice.tsx';
import type { PageDocument } from './document.ts';
import { useContentOf } from './live-page.ts';
import { PreviewAs } from './panels/preview/preview-as.tsx';

interface Props {
  tenantID: string;
  document: PageDocument;
}

/** The page as its viewers use it, with what is not saved. Its buttons do what they do for viewers. */
export function Preview({ tenantID, document }: Props) {
  const content = useContentOf(document);
  const latest = useRef(document);
  latest.current = document;
  const client = useMemo(
    () => unsavedPageClient({ tenantID, openPage: () => undefined, openRun: () => undefined }, () => latest.current),
    [tenantID],
  );
  const memory = useMemo(() => ({ get: () => undefined, set: () => undefined }), []);
  if (!content) return null;
  return (
    <>
      <Notice tone="wait" title="This is the page as its viewers use it">
        With what is not saved yet. Buttons and forms really do what they say; links to other pages lead nowhere here.
      </Notice>
      <PreviewAs document={document}>
        <PageView
          {...{ content, client, memory, Question, InputForm }}
          refreshes={0}
          isDashboard={document.kind === 'dashboard'}
        />
      </PreviewAs>
    </>
  );
}
