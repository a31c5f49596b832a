package contract_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cases are the named cases of the field reports on rows, limits and bytes, and the kinds of points 1 to 3 of the issue that asks for them, with
// the tests that show each kind; below test/integration and test/deploy through the whole pipeline, elsewhere at the part that decides.
func cases() map[string]string {
	return map[string]string{
		"P14 the same row twice":                     "test/integration.TestEveryRowOfAMixtureEndsAsOneResultOrOneDeadLetter internal/submitter/plan.TestASecondComerIsJudgedByTheFirst",
		"P15 another row with a taken id":            "test/integration.TestEveryRowOfAMixtureEndsAsOneResultOrOneDeadLetter internal/submitter/plan.TestEveryDeadLetterNamesWhoCameFirstInAnyOrder",
		"P16 the same id in another job or queue":    "test/integration.TestTheSameIDsInTwoQueuesAndTwoJobsAreDifferentRows test/integration.TestEveryRowOfAMixtureEndsAsOneResultOrOneDeadLetter",
		"P17 custom_id of any length":                "test/integration.TestCustomIDsOfEveryKindComeBackExactly test/integration.TestRefusedRowsWithOddIDsAreRejectedUnderThem",
		"P19 a row in neither file":                  "internal/collector.TestARowInNeitherFileIsMissingAfterTheGrace test/integration.TestARowThatNeitherFileHoldsIsFoundInTheResultsOfTheBatch",
		"P20 a row too large":                        "pkg/rows.TestParseSizeLimit test/integration.TestAFileWithOneOfEachFaultEndsWellInAnyOrderOfRows",
		"P21 rows not run before a cancel":           "test/integration.TestACancelledJobKeepsWhatRanAndAnswersTheRest",
		"P22 P23 results in any order":               "internal/collector.TestAnyOrderOfLinesGivesTheSameResults pkg/doubleword/simulator.TestOutputIsNotInInputOrderButResultsAre",
		"P25 P26 cursor ignored or passed":           "internal/collector.TestAnIgnoredCursorMakesNoDuplicatesAndNoLoop internal/collector.TestARowBehindTheCursorIsFoundAtTheEnd",
		"P28 P29 P32 every end keeps what ran":       "internal/collector.TestEachWayToEndSettlesTheBatchOnce internal/jobs.TestSettlingHandsTheRestToFollowUps",
		"P30 results before the end":                 "internal/collector.TestResultsFlowBeforeTheBatchHasEnded",
		"P31 counts say more than files":             "internal/collector.TestARowThatComesDuringTheGraceIsItsResult test/integration.TestARowThatIsNowhereToBeFoundIsSentOnceMoreAndThenFailsByName",
		"P49 exact cuts":                             "internal/submitter/plan.TestABatchIsCutAtExactlyThePolicysRows internal/submitter/plan.TestABatchHoldsExactlyTheBytesThatThePolicyAllows",
		"P50 one row over the provider's cap":        "internal/submitter/submit.TestAFileOfOneRowThatIsTooLargeIsThatRowsFault internal/submitter/submit.TestATooLargeBatchIsSplitInTwo",
		"P51 flat memory":                            "test/e2e.TestABigJobIsThreeBatchesInBoundedMemory",
		"P52 an upload that breaks off":              "pkg/doubleword.TestAnUploadIsSentOnceAndItsLossIsRetryable",
		"P54 five megabytes of base64":               "test/integration.TestBodiesAndAnswersPassByteForByte pkg/rows.TestParseAcceptsRowsAndKeepsTheirBytes",
		"P55 lines of 65,535, 65,536 and 10 MiB":     "pkg/rows.TestReaderReadsLongLinesWhole pkg/doubleword.TestScannerReadsLinesOfEveryLength",
		"P59 exactly one newline at the end":         "internal/submitter/submit.TestTheUploadIsTheRowsByteForByteAndEndsInOneNewline",
		"P60 more than max_payload":                  "test/integration.TestRowsTooBigForAMessageArriveByteForByte test/integration.TestAnAnswerTooBigForAMessageComesOutByteForByte",
		"P61 a result file that is gone":             "internal/collector.TestFilesThatAreGoneAreAnOutageFirst",
		"P76 separators inside a line":               "pkg/rows.TestLinesSplitOnLineFeedsAlone pkg/doubleword.TestScannerSplitsOnLFAlone test/integration.TestBodiesAndAnswersPassByteForByte",
		"P77 two marks, wherever a file is cut":      "pkg/rows.TestAPartOfAFileIsReadAsTheFileIs pkg/client.TestTheCutsDependOnTheBytesAloneAndKeepEveryLinesNumber internal/ingest.TestRowsBecomeBlocksOfTheirJobs",
		"P77 marks and UTF-16":                       "pkg/rows.TestReaderReportsMarksAndEncodings pkg/rows.TestAMessageInUTF16IsRefusedOnce pkg/rows.TestParseRefuses",
		"P78 P79 quotes, NaN and other no JSON":      "pkg/rows.TestParseRefuses pkg/rows.TestParseExplainsCommonMistakes",
		"P80 P85 surrogates and bad UTF-8":           "pkg/rows.TestParseRefuses test/integration.TestAFileWithOneOfEachFaultEndsWellInAnyOrderOfRows",
		"P81 P82 numbers and <>&":                    "test/integration.TestBodiesAndAnswersPassByteForByte test/integration.TestAnyBodyAndAnyAnswerPassByteForByte pkg/rows.TestWarnings",
		"P86 blank lines, line ends, spaces":         "pkg/rows.TestLinesSplitOnLineFeedsAlone pkg/rows.TestParseRefuses test/integration.TestAFileWithOneOfEachFaultEndsWellInAnyOrderOfRows",
		"P87 depth":                                  "pkg/rows.TestParseRefuses pkg/rows.TestTheVerdictIsThatOfAStrictReference",
		"P88 an object over several lines":           "pkg/rows.TestAnObjectOverSeveralLinesGetsOneVerdict pkg/rows.FuzzPayload test/e2e.TestValidateNamesEveryBadAndDoubledRow test/integration.TestOneObjectOverSeveralLinesIsOneRow",
		"the JSON table: what Go accepts":            "pkg/rows.FuzzVerdict pkg/rows.FuzzRow test/contract.FuzzUpload",
		"the JSON table: duplicate keys":             "pkg/rows.TestParseRefuses pkg/rows.TestWarnings test/integration.TestBodiesAndAnswersPassByteForByte",
		"the JSON table: no map round trip":          "pkg/rows.TestAnyBodyComesOutByteForByte test/integration.TestAnyBodyAndAnyAnswerPassByteForByte",
		"point 1: names that differ in case":         "pkg/rows.TestParseRefuses",
		"point 1: url, model, stream, windows":       "pkg/rows.TestParseRefuses pkg/rows.TestModelRules internal/ingest.TestEachRowIsJudgedAlone",
		"point 1: reasoning controls":                "pkg/rows.TestParseRefuses pkg/rows.TestReasoningControlsThatTheProviderMayTakePass pkg/rows.FuzzRow",
		"point 1: other vendors' shapes":             "pkg/rows.TestParseRefuses test/contract.TestTheRowsPageHasARunningExampleOfEveryCode",
		"point 1: allocation-light, nothing shown":   "pkg/rows.TestParserAllocatesTheIDOnly pkg/rows.TestFaultsDoNotShowTheBody",
		"point 1: one function for three":            "internal/ingest.TestEachRowIsJudgedAlone test/e2e.TestValidateNamesEveryBadAndDoubledRow pkg/client.TestTheCutsDependOnTheBytesAloneAndKeepEveryLinesNumber",
		"point 2: SHA-256 at both ends":              "test/integration.TestAnyBodyAndAnyAnswerPassByteForByte test/integration.TestBodiesAndAnswersPassByteForByte",
		"point 3: wire ids out and back":             "pkg/rows.FuzzWireID pkg/events.FuzzRowToken internal/manifest.TestAWireIDHoldsTheRowsOwnIDUpTo64Bytes test/integration.TestCustomIDsOfEveryKindComeBackExactly",
		"point 3: 1,024 and 1,025 bytes":             "test/integration.TestCustomIDsOfEveryKindComeBackExactly pkg/rows.TestTheVerdictIsThatOfAStrictReference pkg/rows.TestParseRefuses test/e2e.TestAnIDThatIsTooLongIsADeadLetterEverywhere",
		"one of each fault, in any order":            "test/integration.TestAFileWithOneOfEachFaultEndsWellInAnyOrderOfRows",
		"point 9: blocks, splices, scanners, parser": "internal/block.FuzzRead pkg/rows.FuzzSpliceModel pkg/rows.FuzzSplice pkg/rows.FuzzReader pkg/doubleword.FuzzScanner pkg/rows.FuzzParse pkg/events.FuzzSubject",
	}
}

func TestEveryNamedCaseHasItsTests(t *testing.T) {
	t.Parallel()
	for name, tests := range cases() {
		for test := range strings.FieldsSeq(tests) {
			folder, function, _ := strings.Cut(test, ".")
			if !hasTest(t, "../../"+folder, function) {
				t.Errorf("%s: there is no %s in %s", name, function, folder)
			}
		}
	}
	if hasTest(t, ".", "TestThatDoesNotExist") {
		t.Error("this test cannot fail")
	}
}

func hasTest(t *testing.T, folder, function string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(function) + `\(`)
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if declared.Match(text) {
			return true
		}
	}
	return false
}
