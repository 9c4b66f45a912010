export const examplePart = { type: 'text', text: 'Which node repeats others?' };

export const exampleMessage = {
  id: 'Zp3bXq7WmA1dK0sT',
  role: 'user' as const,
  parts: [examplePart],
};

export const exampleChat = {
  id: 'f4Wq0PzTt2LmXv8e',
  messages: [exampleMessage],
  trigger: 'submit-message' as const,
};

export const exampleSession = {
  id: exampleChat.id,
  title: 'Which node repeats others?',
  createdAt: '2026-11-28T09:00:00.000Z',
  updatedAt: '2026-11-28T09:04:00.000Z',
  isAnswering: false,
  isWaiting: true,
};
