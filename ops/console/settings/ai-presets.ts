import type { Schemas } from '../client/types.ts';

/** A language model that is offered to begin with; all of it can be changed. */
export interface ModelPreset {
  id: string;
  label: string;
  provider: NonNullable<Schemas['AIConfig']['provider']>;
  model: string;
  /** Null: the provider's own address. */
  baseURL: string | null;
  needsKey: boolean;
  /** Where the key comes from, or how the server is started. */
  hint: string;
}

export const modelPresets: readonly ModelPreset[] = [
  {
    ...{ id: 'openai', label: 'OpenAI', provider: 'openai', model: 'gpt-5-mini', baseURL: null, needsKey: true },
    hint: 'The key is made at platform.openai.com, under API keys.',
  },
  {
    ...{ id: 'anthropic', label: 'Anthropic', provider: 'anthropic', model: 'claude-sonnet-4-5', baseURL: null },
    ...{ needsKey: true, hint: 'The key is made at console.anthropic.com, under API keys.' },
  },
  {
    ...{ id: 'google', label: 'Google', provider: 'google', model: 'gemini-2.5-flash', baseURL: null, needsKey: true },
    hint: 'The key is made at aistudio.google.com.',
  },
  {
    ...{ id: 'openrouter', label: 'OpenRouter', provider: 'openrouter', model: 'openai/gpt-5-mini', baseURL: null },
    ...{ needsKey: true, hint: 'The key is made at openrouter.ai, under Keys.' },
  },
  {
    ...{ id: 'ollama', label: 'On this machine: Ollama', provider: 'openai-compatible', model: 'qwen3' },
    ...{ baseURL: 'http://localhost:11434/v1', needsKey: false },
    hint: 'Start it with: ollama run qwen3. Choose a model that can call tools.',
  },
  {
    ...{ id: 'llamacpp', label: 'On this machine: llama.cpp', provider: 'openai-compatible', model: 'default' },
    ...{ baseURL: 'http://localhost:8080/v1', needsKey: false },
    hint: 'Start it with: llama-server --jinja -m model.gguf',
  },
  {
    ...{ id: 'vllm', label: 'On this machine: vLLM', provider: 'openai-compatible', model: 'Qwen/Qwen3-8B' },
    ...{ baseURL: 'http://localhost:8000/v1', needsKey: false },
    hint: 'Start it with: vllm serve Qwen/Qwen3-8B --enable-auto-tool-choice --tool-call-parser hermes',
  },
  {
    ...{ id: 'other', label: 'Another server of the OpenAI protocol', provider: 'openai-compatible', model: '' },
    ...{ baseURL: '', needsKey: false, hint: 'The address ends with /v1 for most servers.' },
  },
];
