import { useQuery } from '@tanstack/react-query';
import { useLayoutEffect, useMemo, useRef } from 'react';
import { canvasClient } from '../apps/unsaved-page-client.ts';
import { meRead } from '../client/reads.ts';
import type { PageContent } from '../page/state/page-content.ts';
import type { PageState } from '../page/state/page-state.ts';
import { usePageState } from '../page/view.tsx';
import type { PageDocument } from './document.ts';

/** The page that is edited, as it is drawn while it is edited. Its events do nothing. */
export function useLivePage(tenantID: string, document: PageDocument): PageState | undefined {
  const content = useContentOf(document);
  const latest = useRef(document);
  latest.current = document;
  const first = useRef(content);
  first.current ??= content;
  const client = useMemo(
    () => canvasClient({ tenantID, openPage: () => undefined, openRun: () => undefined }, () => latest.current),
    [tenantID],
  );
  const page = usePageState({ content: first.current, client, memory: nothing, isStill: true });
  useLayoutEffect(() => {
    if (content) page?.update(content);
  }, [page, content]);
  return page;
}

/** The content that is drawn of a document; undefined until it is known who looks at it. */
export function useContentOf({ id, title, config, widgets }: PageDocument): PageContent | undefined {
  const { data: me } = useQuery(meRead);
  return useMemo(() => {
    if (!me) return undefined;
    const { email, userID, userName } = me as { email?: string; userID?: string; userName?: string };
    const placed = Object.values(widgets).map((widget) => ({
      ...{ widgetKey: widget.key, widgetTitle: widget.title, widgetType: widget.type, widgetConfig: widget.config },
      ...{ refreshInterval: widget.refreshInterval, error: widget.error ?? null },
    }));
    return { id, title, config, widgets: placed, viewer: { email, userID, name: userName }, params: {} };
  }, [me, id, title, config, widgets]);
}

const nothing = { get: () => undefined, set: () => undefined };
