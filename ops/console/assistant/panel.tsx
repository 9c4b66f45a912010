import './assistant.css';
import { ActionIcon, Button, CloseButton, Group, Menu, Portal, Skeleton, Textarea } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { type FormEvent, type KeyboardEvent, lazy, Suspense, useEffect, useRef, useState } from 'react';
import { chatsRead, forgetChat } from '../client/assistant.ts';
import { every } from '../client/every.ts';
import { newID } from '../client/new-id.ts';
import { useSession } from '../client/session.ts';
import { takeAsked, useAsked, useOpenPage } from '../open-page/open-page.ts';
import { Icon } from '../ui/icon.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';
import { Message } from './message.tsx';
import { useStored } from './stored.ts';
import { useChat, wordsOfFailure } from './use-chat.ts';
import { contextOf, questionsAt, wordsOf } from './where.ts';

const NoModel = lazy(() => import('./no-model.tsx').then(({ NoModel: one }) => ({ default: one })));

interface Props {
  tenantID: string;
  onClose: () => void;
}

/** The menu folds on these: the page keeps the room for a graph and the panel of a step. */
const LAPTOP = '(min-width: 801px) and (max-width: 1500px)';

/** The assistant at the right of every page: its conversations, and the one that goes on. */
export function Panel({ tenantID, onClose }: Props) {
  // Several people may use one browser, and each has conversations of their own.
  const [chatID, setChatID] = useStored(`gantry.chat.${tenantID}.${useSession()?.email}`, newID);
  const chats = useQuery({
    ...chatsRead(tenantID),
    // A model may be set in the settings, or by a colleague who was asked.
    refetchInterval: every((data) => (data?.hasModel === false ? SET_MS : false)),
  });
  const isNarrow = useMediaQuery('(max-width: 800px)', undefined, { getInitialValueInEffect: false });
  const isLaptop = useMediaQuery(LAPTOP, undefined, { getInitialValueInEffect: false });
  useEffect(() => {
    document.documentElement.dataset.assistant = '';
    return () => {
      delete document.documentElement.dataset.assistant;
    };
  }, []);
  useEffect(() => {
    if (!isLaptop) return;
    document.documentElement.dataset.folded = '';
    return () => {
      delete document.documentElement.dataset.folded;
    };
  }, [isLaptop]);
  useEffect(() => {
    // The page that it covers cannot be reached.
    const content = document.getElementById('content');
    if (!content || !isNarrow) return;
    content.inert = true;
    return () => {
      content.inert = false;
    };
  }, [isNarrow]);
  return (
    <Portal>
      <aside className="assistant" aria-label="Assistant" onKeyDown={(event) => onKey(event, onClose)}>
        <header>
          <h2>Assistant</h2>
          <Chats tenantID={tenantID} chatID={chatID} onChoose={setChatID} />
          <ActionIcon
            variant="default"
            aria-label="New conversation"
            title="New conversation"
            onClick={() => setChatID(newID())}
          >
            <Icon name="plus" />
          </ActionIcon>
          <CloseButton aria-label="Close the assistant" title="Esc" onClick={onClose} />
        </header>
        {chats.error && (
          <div className="assistant-log">
            <Problem error={chats.error} onRetry={() => void chats.refetch()} />
          </div>
        )}
        {chats.isPending && <Skeleton m="sm" h={120} />}
        {chats.data?.hasModel === false && (
          <div className="assistant-log">
            <Suspense>
              <NoModel tenantID={tenantID} />
            </Suspense>
          </div>
        )}
        {chats.data?.hasModel && <Conversation key={chatID} tenantID={tenantID} chatID={chatID} />}
      </aside>
    </Portal>
  );
}

const SET_MS = 5_000;

/** Escape closes the panel, unless a list or a menu in it is open. */
function onKey(event: KeyboardEvent<HTMLElement>, close: () => void): void {
  const isInList = event.target instanceof Element && event.target.closest('[role="menu"], [aria-expanded="true"]');
  if (event.key === 'Escape' && !isInList) close();
}

interface ChatsProps {
  tenantID: string;
  chatID: string;
  onChoose: (chatID: string) => void;
}

/** The conversations that are kept. */
function Chats({ tenantID, chatID, onChoose }: ChatsProps) {
  const queries = useQueryClient();
  const { data } = useQuery(chatsRead(tenantID));
  const forget = useMutation({
    mutationFn: () => forgetChat({ tenantID, chatID }),
    onSuccess: () => {
      onChoose(newID());
      void queries.invalidateQueries({ queryKey: chatsRead(tenantID).queryKey });
    },
  });
  const sessions = data?.sessions ?? [];
  if (sessions.length === 0) return null;
  return (
    <Menu position="bottom-end" width={300} withinPortal={false}>
      <Menu.Target>
        <ActionIcon variant="default" aria-label="Conversations" title="Conversations">
          <Icon name="clock" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown mah="60dvh" style={{ overflow: 'auto' }}>
        {sessions.slice(0, MAX_LISTED).map(({ id, title, updatedAt, isWaiting }) => (
          <Menu.Item key={id} aria-current={id === chatID || undefined} onClick={() => onChoose(id)}>
            <bdi>{title || 'Without a text'}</bdi>
            <span className="note">
              {' '}
              <Ago at={updatedAt} />
              {isWaiting && ', waits for you'}
            </span>
          </Menu.Item>
        ))}
        {sessions.some(({ id }) => id === chatID) && (
          <>
            <Menu.Divider />
            <Menu.Item className="dangerous" onClick={() => forget.mutate()}>
              Delete this conversation
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

const MAX_LISTED = 30;

function Conversation({ tenantID, chatID }: { tenantID: string; chatID: string }) {
  const { pathname } = useLocation();
  const opened = useOpenPage();
  const asked = useAsked();
  const chat = useChat({ tenantID, chatID });
  const [text, setText] = useState('');
  const [withoutAt, setWithoutAt] = useState<string>();
  const field = useRef<HTMLTextAreaElement>(null);
  const log = useRef<HTMLElement>(null);
  const { messages, isAnswering, isRead } = chat;
  const isAlong = withoutAt !== pathname;
  const where = async () => (isAlong ? contextOf(pathname, opened) : null);
  const ask = async (question: string) => {
    setText('');
    await chat.ask(question, where);
  };
  const chooseNow = useRef(choose);
  chooseNow.current = choose;
  useEffect(() => {
    if (asked === undefined || !isRead) return;
    const question = takeAsked();
    if (question !== undefined) chooseNow.current(question);
  }, [asked, isRead]);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    // The newest is in view, unless one reads what was said before.
    const shown = log.current;
    if (shown && messages.length > 0 && (isAnswering || !wasRead.current)) shown.scrollTop = shown.scrollHeight;
    wasRead.current = messages.length > 0;
  }, [messages, isAnswering]);
  const wasRead = useRef(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== '' && !isAnswering) void ask(text.trim());
  };
  return (
    <>
      <section
        ref={log}
        className="assistant-log"
        role="log"
        aria-label="Conversation"
        aria-busy={isAnswering}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
      >
        {messages.length === 0 && isRead && (
          <Suggestions questions={questionsAt(pathname, opened)} onChoose={(question) => choose(question)} />
        )}
        {messages.map((message, index) => (
          <Message
            key={message.id}
            tenantID={tenantID}
            message={message}
            decisions={chat.decisions}
            isLast={index === messages.length - 1}
            isAnswering={isAnswering}
            onDecide={(id, decision) => void chat.decide(id, decision, where)}
            onAsk={(question) => void ask(question)}
          />
        ))}
        {isAnswering && <span className="note">It is answering …</span>}
        {chat.error && (
          <Notice tone="bad" role="alert" title="That failed">
            {wordsOfFailure(chat.error)}{' '}
            {chat.retry && (
              <Button size="compact-xs" variant="default" onClick={() => void chat.retry?.()}>
                Ask again
              </Button>
            )}
          </Notice>
        )}
      </section>
      <form onSubmit={submit}>
        <div className="assistant-page">
          {isAlong ? (
            <>
              <span>
                Sees <bdi>{wordsOf(pageOf(pathname), opened)}</bdi>
              </span>
              <CloseButton
                size="xs"
                aria-label="Do not send what is open here"
                onClick={() => setWithoutAt(pathname)}
              />
            </>
          ) : (
            <Button size="compact-xs" variant="default" onClick={() => setWithoutAt(undefined)}>
              Send what is open here
            </Button>
          )}
        </div>
        <Textarea
          ref={field}
          aria-label="Message"
          placeholder="Ask, or say what is to be done"
          rows={3}
          maxLength={20_000}
          value={text}
          onChange={({ currentTarget: { value } }) => setText(value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            submit(event);
          }}
        />
        <Group justify="space-between" mt={6} gap="xs" wrap="nowrap">
          <span className="note">Nothing is changed without your approval.</span>
          {isAnswering ? (
            <Button size="xs" variant="default" onClick={() => void chat.stop()}>
              Stop
            </Button>
          ) : (
            <Button size="xs" type="submit" disabled={text.trim() === ''}>
              Send
            </Button>
          )}
        </Group>
      </form>
    </>
  );

  /** A question that is not whole is gone on with in the field. */
  function choose(question: string): void {
    if (!question.endsWith('…')) return void ask(question);
    setText(question.slice(0, -1));
    field.current?.focus();
  }
}

function Suggestions({ questions, onChoose }: { questions: readonly string[]; onChoose: (question: string) => void }) {
  return (
    <div>
      <p className="note">
        The assistant knows what is open here. It may do what you may, and asks before it changes something.
      </p>
      <Group gap={6} className="assistant-ask">
        {questions.map((question) => (
          <Button key={question} size="compact-sm" variant="default" onClick={() => onChoose(question)}>
            {question}
          </Button>
        ))}
      </Group>
    </div>
  );
}

/** The name of a page by its path. */
function pageOf(pathname: string): string {
  const [, , , page = 'home'] = pathname.split('/');
  const words = page.replace('-', ' ') || 'home';
  return words[0]?.toUpperCase() + words.slice(1);
}
