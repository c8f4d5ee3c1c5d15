// A survey in the browser: answers are randomized here, and reports alone are kept, shown and sent.
//
// Law      The report to a question is a set of `size` answers. It holds the respondent's own answer with
//          probability threshold / 2^64; the rest of it is drawn uniformly among all other answers.
//          Both draws compare whole numbers, so the law that is sampled is the law that is promised.
// Coins    crypto.getRandomValues alone.
// Once     Reports are drawn once and kept in this browser before they are sent. Sending again sends the same;
//          nobody is asked whether to send after a look at them, since that choice would tell something too.

const WORDS = 2 ** 32;

function word64() {
  return crypto.getRandomValues(new BigUint64Array(1))[0];
}

// Uniform in 0 .. bound - 1. The words that are refused are those that would favour some of them.
export function below(bound) {
  const refused = WORDS % bound;
  let word;
  do {
    word = crypto.getRandomValues(new Uint32Array(1))[0];
  } while (word < refused);
  return word % bound;
}

export function draw(law, answer) {
  const own = word64() < BigInt(law.threshold);
  const others = [...law.values.keys()].filter((code) => code !== answer);
  const wanted = own ? law.size - 1 : law.size;
  for (let i = 0; i < wanted; i++) {
    const j = i + below(others.length - i);
    [others[i], others[j]] = [others[j], others[i]];
  }
  const report = others.slice(0, wanted);
  return (own ? [...report, answer] : report).sort((a, b) => a - b);
}

function newTicket() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const find = (id) => document.getElementById(id);

function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

function kept(survey) {
  try {
    return JSON.parse(localStorage.getItem(`discreet ${survey.id}`));
  } catch {
    return null;
  }
}

function keep(survey, message) {
  try {
    localStorage.setItem(`discreet ${survey.id}`, JSON.stringify(message));
    return true;
  } catch {
    return false;
  }
}

function ask(survey) {
  survey.questions.forEach((question, place) => {
    const choices = question.values.map((value, code) => {
      const input = element("input", { type: "radio", name: `q${place}`, value: code, required: "" });
      return element("label", { class: "choice" }, input, element("span", {}, value));
    });
    const legend = element("legend", {}, question.text);
    find("questions").append(element("fieldset", { class: "card" }, legend, ...choices));
  });
  find("promise").textContent =
    "Your answers stay in this browser. What is sent instead is drawn at random, so that it tells little about " +
    `them: whoever gave any claim about them ${survey.prior} before may give it at most ${survey.reached} after ` +
    "everything that this page sends.";
  find("promise").hidden = find("form").hidden = false;
}

function drawAll(survey) {
  const form = find("form");
  const answers = survey.questions.map((_, place) => Number(new FormData(form).get(`q${place}`)));
  const reports = survey.questions.map((question, place) => draw(question, answers[place]));
  return { survey: survey.id, ticket: newTicket(), reports };
}

function show(survey, message) {
  const cards = survey.questions.map((question, place) => {
    const chips = question.values.map((value, code) => {
      const isSent = message.reports[place].includes(code);
      const mark = isSent ? [element("span", { class: "hidden" }, "sent: ")] : [];
      return element("li", { class: isSent ? "sent" : "unsent" }, ...mark, value);
    });
    const explained =
      `Your own answer is among the marked ones with a probability of ${question.own}, any other answer with ` +
      `${question.other}. From this report alone, whoever gave a claim about this answer ${survey.prior} before ` +
      `may give it at most ${question.reached}.`;
    const parts = [element("h3", {}, question.text), element("ul", { class: "chips" }, ...chips)];
    return element("div", { class: "card" }, ...parts, element("p", { class: "small" }, explained));
  });
  find("reports").replaceChildren(...cards);
  find("revealed").textContent =
    `All of it together: whoever gave a claim about you ${survey.prior} before may now give it at most ${survey.reached}.`;
  find("promise").hidden = true;
  find("sent").hidden = false;
  find("sent").focus();
}

async function send(message, note) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(message) };
  let said = "The server could not be reached. Send the same again later: nothing is drawn anew.";
  try {
    const response = await fetch("reports", { ...options, credentials: "omit", referrerPolicy: "no-referrer" });
    said = response.ok ? `The server keeps these reports, and nothing else.${note}` : (await response.json()).error;
  } catch {
    // `said` tells it
  }
  find("state").textContent = said;
}

async function start() {
  const survey = await (await fetch("survey.json", { credentials: "omit" })).json();
  find("waiting").remove();
  document.title = find("title").textContent = survey.title;
  find("intro").textContent = survey.intro;
  find("intro").hidden = !survey.intro;
  let message = kept(survey);
  find("again").addEventListener("click", () => send(message, ""));
  if (message !== null) {
    find("form").remove();
    show(survey, message);
    find("state").textContent = "This browser has drawn its reports already. They stay the same.";
    return;
  }
  ask(survey);
  find("form").addEventListener("submit", (event) => {
    event.preventDefault();
    message = kept(survey) ?? drawAll(survey); // another tab may have drawn meanwhile
    find("form").remove();
    const note = keep(survey, message) ? "" : " This browser keeps nothing: please do not answer a second time.";
    show(survey, message);
    send(message, note);
  });
}

start();
