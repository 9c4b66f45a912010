/** A page with the AI SDK's own `useChat`, as an application would have it. */
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { createElement as h } from 'react';
import { createRoot } from 'react-dom/client';

const settings = new URLSearchParams(location.search);

function Chat() {
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({
    transport: new DefaultChatTransport({
      api: `/api/v1/tenants/${settings.get('tenant')}/ai/chat/stream`,
      headers: { authorization: `Bearer ${settings.get('token')}` },
    }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const show = (part, at) => {
    if (part.type === 'text') return h('p', { key: at }, part.text);
    if (part.type !== 'dynamic-tool') return null;
    const decide = (approved) => () => addToolApprovalResponse({ id: part.approval.id, approved });
    return h(
      'p',
      { key: at },
      `${part.toolName}: ${part.state}`,
      part.state === 'approval-requested' && h('button', { type: 'button', onClick: decide(true) }, 'Allow'),
      part.state === 'approval-requested' && h('button', { type: 'button', onClick: decide(false) }, 'Deny'),
    );
  };
  return h(
    'main',
    null,
    messages.map(({ id, role, parts }) => h('section', { key: id, 'aria-label': role }, parts.map(show))),
    h('button', { type: 'button', onClick: () => sendMessage({ text: 'Delete the workflow' }) }, 'Send'),
    h('output', null, error ? `${status}: ${error.message}` : status),
  );
}

createRoot(document.body.appendChild(document.createElement('div'))).render(h(Chat));
