import './page.css';
import { Button, CloseButton, Group, Modal, Stack, Text } from '@mantine/core';
import { type ComponentType, type ReactNode, Suspense, useEffect, useState } from 'react';
import { Notice } from '../ui/notice.tsx';
import { DashboardLayout, PageLayout } from './layout/layout.tsx';
import { createCodeSandbox } from './sandbox/code.ts';
import type { PageClient } from './state/client.ts';
import type { AskedForm, Told } from './state/messages.ts';
import type { PageContent } from './state/page-content.ts';
import { PageState } from './state/page-state.ts';
import type { Memory } from './state/runs.ts';
import { PageContext, usePage, useStore } from './widgets/page-context.ts';
import { QuestionContext, type QuestionProps } from './widgets/runs-of.tsx';

interface Opening {
  /** Undefined: it is not there yet. */
  content: PageContent | undefined;
  client: PageClient;
  memory: Memory;
  /** Its events do nothing: it is edited. */
  isStill?: boolean;
}

interface Props extends Opening {
  content: PageContent;
  isDashboard?: boolean;
  Question: ComponentType<QuestionProps>;
  /** Asks for the inputs of a workflow before it starts. */
  InputForm: ComponentType<{ form: AskedForm }>;
  /** Another number reads all data again. */
  refreshes: number;
}

/** A page with its widgets. Another content is another page: its values begin anew. */
export function PageView({ content, client, memory, isDashboard = false, refreshes, Question, InputForm }: Props) {
  const page = usePageState({ content, client, memory });
  useEffect(() => {
    if (refreshes > 0) page?.sources.refreshAll();
  }, [page, refreshes]);
  if (!page) return null;
  return (
    <PageShell page={page} Question={Question} InputForm={InputForm}>
      {isDashboard ? <DashboardLayout /> : <PageLayout />}
      {content.widgets.length === 0 && <p className="page-nothing">This page has no widgets yet.</p>}
    </PageShell>
  );
}

/** The state of a page while it is open. */
export function usePageState({ content, client, memory, isStill = false }: Opening): PageState | undefined {
  const [page, setPage] = useState<PageState>();
  useEffect(() => {
    if (!content) return;
    const code = createCodeSandbox();
    const opened = new PageState(content, { client, code, memory, isStill });
    opened.open();
    setPage(opened);
    return () => {
      opened.close();
      code[Symbol.dispose]();
    };
  }, [content, client, memory, isStill]);
  return page;
}

interface ShellProps extends Pick<Props, 'Question' | 'InputForm'> {
  page: PageState;
  children: ReactNode;
}

/** The surroundings of a page's layout, with the messages and questions of its actions. */
export function PageShell({ page, Question, InputForm, children }: ShellProps) {
  return (
    <PageContext value={page}>
      <QuestionContext value={Question}>
        <div className="page">{children}</div>
        <ToldThings />
        <Confirmation />
        <Inputs Form={InputForm} />
      </QuestionContext>
    </PageContext>
  );
}

/** Messages of actions, which go by themselves unless they tell of a failure. */
function ToldThings(): ReactNode {
  const page = usePage();
  const told = useStore(page.messages.told);
  return (
    <div className="page-told" role="status" aria-live="polite">
      {told.map((one) => (
        <OneTold key={one.id} told={one} />
      ))}
    </div>
  );
}

const SHOWN_MS = 6_000;

function OneTold({ told: { id, tone, text } }: { told: Told }) {
  const page = usePage();
  useEffect(() => {
    if (tone === 'bad') return;
    const timer = setTimeout(() => page.messages.untell(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [page, id, tone]);
  return (
    <Notice tone={tone}>
      <Group wrap="nowrap" justify="space-between" align="start" gap="xs">
        <bdi>{text}</bdi>
        <CloseButton size="sm" aria-label="Close the message" onClick={() => page.messages.untell(id)} />
      </Group>
    </Notice>
  );
}

function Confirmation() {
  const page = usePage();
  const asked = useStore(page.messages.asked);
  if (!asked) return null;
  return (
    <Modal opened title="Please confirm" onClose={() => asked.answer(false)}>
      <Stack>
        <Text className="breaks">
          <bdi>{asked.question}</bdi>
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={() => asked.answer(false)} data-autofocus>
            Cancel
          </Button>
          <Button onClick={() => asked.answer(true)}>Yes, go on</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Inputs({ Form }: { Form: Props['InputForm'] }) {
  const form = useStore(usePage().messages.form);
  return (
    form && (
      <Suspense>
        <Form form={form} />
      </Suspense>
    )
  );
}
