//! Confirmations before an action that spends money: what starts, replaces or bills an agent is confirmed, unless the
//! button that was clicked names it already.

export interface Confirmation {
  title: string;
  /** What will happen, one paragraph each. Names the agent and the brief. */
  paragraphs: string[];
  /** What it is about, one line each. */
  list?: string[];
  /** The button that confirms. Names what it starts. */
  verb: string;
}

class Confirmations {
  open = $state.raw<Confirmation>();
  private settle: ((confirmed: boolean) => void) | undefined;

  /** Resolves to whether the operator confirms. An open confirmation is not replaced, so that a click keeps its meaning. */
  ask(question: Confirmation): Promise<boolean> {
    if (this.open) return Promise.resolve(false);
    this.open = question;
    return new Promise((settle) => (this.settle = settle));
  }

  answer(confirmed: boolean): void {
    const settle = this.settle;
    this.settle = this.open = undefined;
    settle?.(confirmed);
  }
}

export const confirmations = new Confirmations();
