/** Who is behind a request: a person, or a program with an API key that acts for the person who made it. */
export interface Identity {
  userID: string;
  email: string | null;
  apiKeyID?: string;
}
