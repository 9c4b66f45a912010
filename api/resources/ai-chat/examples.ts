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
