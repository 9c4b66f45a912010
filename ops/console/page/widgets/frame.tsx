import { Button, Skeleton } from '@mantine/core';
import { Component, memo, type ReactNode, Suspense, useEffect, useMemo, useState } from 'react';
import { isObject } from '../../ui/is-object.ts';
import { Notice } from '../../ui/notice.tsx';
import type { Fault } from '../bindings/compile.ts';
import type { PlacedWidget, Refused } from '../state/client.ts';
import { IDLE, type SourceState } from '../state/source.ts';
import { createStore, type Store } from '../state/store.ts';
import { flag, text, useDataSources, usePage, useProperties, useStore, useWidget } from './page-context.ts';
import { kindOf } from './registry.ts';
import { RunsOf } from './runs-of.tsx';

/** A widget in its place, with what can be said of its data: that they come, are old, failed or are not allowed. */
export const Widget = memo(function OneWidget({ widgetKey }: { widgetKey: string }) {
  const widget = useWidget(widgetKey);
  if (!widget) return <Notice tone="bad">This page names a widget that it does not have.</Notice>;
  if (widget.error) return <Refusal error={widget.error} what="This widget" />;
  return (
    <Guard key={widgetKey} title={widget.widgetTitle}>
      <Shown widget={widget} />
    </Guard>
  );
});

const NO_DATA = createStore<SourceState>(IDLE);

function Shown({ widget }: { widget: PlacedWidget }) {
  const { widgetKey, widgetTitle, widgetType } = widget;
  const page = usePage();
  const { value, faults } = useProperties(widgetKey);
  const own = page.dataOf(widgetKey);
  const data = useStore(own ?? NO_DATA);
  const read = useStates(useNamedQueries(widget));
  useEffect(() => {
    void page.fire(widgetKey, 'onLoad');
  }, [page, widgetKey]);
  const properties = isObject(value) ? value : {};
  if (flag(properties.isHidden)) return null;

  const states = own ? [data, ...read] : read;
  const failed = states.find(({ error, data: shown }) => error && shown === undefined)?.error;
  const isFirst = states.some(({ isLoading, data: shown }) => isLoading && shown === undefined);
  const isOld = states.some(({ isStale }) => isStale);
  const { Show, hasHeading, isPanel } = kindOf(widgetType);
  const again = () => void page.refresh(widgetKey);
  const waiting = <Skeleton h={isPanel ? 96 : 24} />;
  return (
    <section
      className={isPanel ? 'page-widget panel' : 'page-widget'}
      aria-label={widgetTitle}
      aria-busy={isFirst}
      data-stale={isOld || undefined}
    >
      {hasHeading && (
        <h2 className="page-widget-title">
          <bdi>{text(properties.title, widgetTitle)}</bdi>
        </h2>
      )}
      {failed && <Refusal error={failed} what={widgetTitle} onRetry={again} />}
      {!failed && isFirst && waiting}
      {!failed && !isFirst && (
        <Suspense fallback={waiting}>
          <Show {...{ widgetKey, title: widgetTitle, properties }} data={own ? data : undefined} />
        </Suspense>
      )}
      {!failed && <Outdated states={states} onRetry={again} />}
      <Faults faults={faults} />
      <RunsOf widgetKey={widgetKey} />
    </section>
  );
}

/** The stores of queries that a widget's properties name. */
function useNamedQueries(widget: PlacedWidget): readonly Store<SourceState>[] {
  const page = usePage();
  const dataSources = useDataSources();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the page reads the widget and its own queries, which change while it is edited
  return useMemo(
    () => page.namedQueries(widget.widgetKey).flatMap((alias) => page.query(alias) ?? []),
    [page, widget, dataSources],
  );
}

function useStates(stores: readonly Store<SourceState>[]): readonly SourceState[] {
  const joined = useMemo(() => joinedStore(stores), [stores]);
  return useStore(joined);
}

function joinedStore(stores: readonly Store<SourceState>[]): Store<readonly SourceState[]> {
  let last: readonly SourceState[] = [];
  return {
    get() {
      const now = stores.map((store) => store.get());
      if (now.length !== last.length || now.some((state, at) => state !== last[at])) last = now;
      return last;
    },
    set: () => {},
    subscribe(listener) {
      const ends = stores.map((store) => store.subscribe(listener));
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

/** A read that takes no longer than this is not worth a word. */
const SLOW_MS = 400;

function Outdated({ states, onRetry }: { states: readonly SourceState[]; onRetry: () => void }) {
  const failed = states.find(({ error, data }) => error && data !== undefined);
  const isReading = states.some(({ isLoading, data }) => isLoading && data !== undefined);
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    setSlow(false);
    if (!isReading) return;
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, [isReading]);
  if (failed?.error)
    return (
      <p className="page-outdated" role="status">
        These are older data: {failed.error.message}{' '}
        <Button size="compact-xs" variant="default" onClick={onRetry}>
          Try again
        </Button>
      </p>
    );
  return (
    <p className="page-outdated" role="status">
      {isSlow && 'Newer data are being read'}
    </p>
  );
}

function Refusal({ error: { code, message }, what, onRetry }: { error: Refused; what: string; onRetry?: () => void }) {
  const isDenied = code === 'PERMISSION_DENIED';
  return (
    <Notice tone={isDenied ? 'wait' : 'bad'} role="alert" title={isDenied ? 'Not allowed' : `${what} cannot be shown`}>
      {message}{' '}
      {onRetry && !isDenied && (
        <Button size="compact-xs" variant="default" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Notice>
  );
}

const MAX_FAULTS = 5;

function Faults({ faults }: { faults: readonly Fault[] }) {
  if (faults.length === 0) return null;
  return (
    <Notice tone="bad" title="An expression cannot be computed">
      {faults.slice(0, MAX_FAULTS).map(({ source, message }) => (
        <span key={`${source} ${message}`} className="page-fault">
          <code dir="auto">{`{{${source}}}`}</code> <bdi>{message}</bdi>
        </span>
      ))}
      {faults.length > MAX_FAULTS && `and ${faults.length - MAX_FAULTS} more`}
    </Notice>
  );
}

/** A widget whose values break it takes no other one with it. */
class Guard extends Component<{ title: string; children: ReactNode }, { message: string | null }> {
  override state: { message: string | null } = { message: null };

  static getDerivedStateFromError(error: unknown) {
    return { message: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    const { title, children } = this.props;
    const { message } = this.state;
    if (message === null) return children;
    return (
      <Notice tone="bad" role="alert" title={`${title} cannot be shown`}>
        {message}
      </Notice>
    );
  }
}
