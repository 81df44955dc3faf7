/** Requests of forms. */
import { useSignal } from '@preact/signals';
import { requestMessage } from '../api.ts';

/** A form whose request is made once at a time. */
export function useRequest<T>() {
  const busy = useSignal(false);
  const problem = useSignal('');
  const answer = useSignal<T | null>(null);
  const send = async (request: () => Promise<T>) => {
    busy.value = true;
    problem.value = '';
    try {
      answer.value = await request();
    } catch (error) {
      problem.value = requestMessage(error);
    }
    busy.value = false;
    return answer.value;
  };
  return { busy, problem, answer, send };
}
